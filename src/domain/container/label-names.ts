/** `upkeep.enable` and the like; they win over the drop-in ones. */
export const ownPrefix = 'upkeep.';

/** `com.centurylinklabs.watchtower.enable` and the like, with the same meaning, so that nobody has to relabel. */
export const dropInPrefix = 'com.centurylinklabs.watchtower.';

/** Every label of an update's journal begins with this; the user's own `upkeep.*` labels never do. */
export const journalPrefix = 'upkeep.tx.';

/** Every label that the Watchtower family gave a meaning begins with this. */
export const familyPrefix = 'com.centurylinklabs.';

/** `true` marks a container of the Watchtower family itself. */
export const watchtowerLabel = 'com.centurylinklabs.watchtower';

/** The reference to use instead of `Config.Image`, as the Zodiac deploy tool leaves it. */
export const originalImageLabel = 'com.centurylinklabs.zodiac.original-image';

/** Names under the drop-in prefix that Watchtower writes for itself. */
export const watchtowerInternals: readonly string[] = ['container-chain', 'ephemeral-orchestrator'];

export type Labels = Readonly<Record<string, string>>;
