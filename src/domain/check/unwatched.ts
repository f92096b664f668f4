/** The kinds of reasons why a container is not watched. */
export type UnwatchedKind = keyof typeof remedies;

/** The remedy for each kind. */
const remedies = {
  'disabled by label': 'remove its label upkeep.enable=false',
  'not enabled by label': 'give it the label upkeep.enable=true',
  'other scope': 'start Upkeep with its scope, or change its label upkeep.scope',
  'not named': 'add its name to the command of Upkeep',
  excluded: 'change the options that exclude it by name, label or image',
  stopped: 'start it, or start Upkeep with --include-stopped',
  restarting: 'wait until it runs, or start Upkeep with --include-restarting',
  'other manager': 'update it with its manager, or give it the label upkeep.enable=true',
  'swarm task': 'update its service with docker service update',
} as const;

/**
 * `reason` follows the container's name. Without a kind the container cannot be watched at all: it is part of an
 * update, it has no image, or it is being removed.
 */
export type UnwatchedReason = { readonly reason: string; readonly kind?: UnwatchedKind };

export type UnwatchedCount = {
  readonly reason: UnwatchedKind;
  readonly count: number;
  readonly remedy: string;
};

/** The number of each kind, the largest first. */
export function countUnwatched(omissions: readonly UnwatchedReason[]): readonly UnwatchedCount[] {
  const counts = new Map<UnwatchedKind, number>();
  for (const { kind } of omissions) if (kind !== undefined) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts]
    .map(([reason, count]) => ({ reason, count, remedy: remedies[reason] }))
    .toSorted((one, other) => other.count - one.count);
}
