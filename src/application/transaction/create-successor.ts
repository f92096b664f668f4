import { isFailure, type EngineInfo, type PullRequest } from '../../domain/outside/engine.ts';
import type { StepOutcome } from '../../domain/transaction/memory.ts';
import {
  readJournal,
  withAutoRemove,
  sealLabel,
  sealedText,
  writeJournal,
  type Journal,
} from '../../domain/transaction/journal.ts';
import type { StepOf } from '../../domain/transaction/member.ts';
import type { DataFigures } from '../../domain/transaction/data-helper.ts';
import { transactionName } from '../../domain/transaction/transaction-names.ts';
import type { Member } from '../../domain/transaction/facts.ts';
import { setMark, type OpenTransaction, wasCreatedLate } from './open-transaction.ts';
import type { Image, ContainerRecipe, Container } from '../../domain/container/container.ts';
import type { PreparedMember, PreparedTransaction } from './prepare.ts';
import { recipeFor, leftOutFields } from '../../domain/container/recipe/container-recipe.ts';
import { composeImageLabel } from '../../domain/container/recipe/config.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { getsFreshVolumes } from '../../domain/plan/replacement.ts';
import {
  tryParseImageReference,
  isDigest,
  formatReference,
  parseImageReference,
  withDigest,
  type Digest,
  type ImageReference,
} from '../../domain/image/image-reference.ts';
import { effectiveSettings, labelValuesOf, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { needsSignature } from '../check/require-signature.ts';
import { digestsOf } from '../../domain/container/lookup.ts';
import { sameArchitecture, type Platform } from '../../domain/image/platform.ts';
import type { VerifiedImage } from '../../domain/outside/registry.ts';
import type { PlannedMember } from '../../domain/plan/update-plan.ts';
import type { CopyProgress, PullProgress } from '../../domain/run/event.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import { defined } from '../../domain/text/plain-data.ts';
import { quoted } from '../../domain/text/printable.ts';

export async function createSuccessor(context: StepContext, { member: index }: StepOf<'create'>): Promise<StepOutcome> {
  const { transaction, prepared } = context;
  const member = transaction.members[index];
  const parts = prepared?.members[index];
  if (member === undefined || parts === undefined || prepared === undefined) return nothingPrepared;
  const { image, planned } = parts;
  const replaced = transaction.successors;
  const recipe = recipeOf(context, { prepared, parts, member, role: 'successor', replaced });
  const order = { image, parts, keepsTag: planned.cause === 'linked' };
  const outcome = await createUnderTag(context, order, transactionName({ role: 'new', name: member.name }), recipe);
  if (outcome.kind === 'done') {
    transaction.successors.set(member.oldId, outcome.id);
    if (await wasCreatedLate(context, member.oldId)) return beginAnew(context, { ...order, member });
  }
  if (outcome.kind === 'refused' && outcome.status === 409) {
    const busy = `another update of "${member.name}" is in progress`;
    const holder = await holderOfLock(context, member);
    if (holder === 'unclear') return { ...outcome, message: `${busy} (${outcome.message})` };
    if (holder === 'stranger') return { ...outcome, message: inTheWay(member) };
    transaction.tagsBefore.delete(member.oldId);
    return { kind: 'declined', message: busy, deferred: true };
  }
  return outcome.kind === 'done' ? { kind: 'done' } : outcome;
}

type CreateUnderTagOptions = {
  readonly image: Image;
  readonly parts: PreparedMember;
  /** True if the tag is restored after the creation. */
  readonly keepsTag: boolean;
};

/**
 * Creates a container while the tag points at the wanted image, because the container stores the reference as text. For
 * a container of the old image, the tag is moved back for a moment.
 */
export async function createUnderTag(
  { outside: { engine }, transaction: { tagsBefore, tagged: withTag } }: StepContext,
  { image, parts: { planned, tag }, keepsTag }: CreateUnderTagOptions,
  name: string,
  recipe: ContainerRecipe,
) {
  if (tag === undefined) return engine.createContainer(name, recipe);
  const tagged = (await engine.inspectImage(planned.reference))?.id;
  if (tagged !== image.id) {
    const { id: oldId, imageId } = planned.container;
    // The old container's image was never behind another tag.
    const before = tagged ?? (planned.formerReference === undefined ? imageId : undefined);
    // On a second try, the first one has already moved the tag.
    if (!keepsTag && before !== undefined && !tagsBefore.has(oldId)) tagsBefore.set(oldId, before);
    const outcome = await engine.tagImage(image.id, tag);
    if (isFailure(outcome)) return outcome;
  }
  const created = await engine.createContainer(name, recipe);
  if (!keepsTag && created.kind === 'done') withTag.add(planned.container.id);
  if (keepsTag && tagged !== undefined && tagged !== image.id) await engine.tagImage(tagged, tag);
  return created;
}

/** Sets the mark and the tag again for a successor that another instance had not seen when it removed them. */
async function beginAnew(
  { outside, transaction }: StepContext,
  { image, parts: { tag }, keepsTag, member: { oldId } }: CreateUnderTagOptions & { readonly member: Member },
): Promise<StepOutcome> {
  const marked = await setMark({ outside, transaction }, { kind: 'mark', oldId });
  if (marked.kind !== 'done' || tag === undefined || keepsTag) return marked;
  return outside.engine.tagImage(image.id, tag);
}

const inTheWay = ({ name }: Member) =>
  `"${transactionName({ role: 'new', name })}" exists, and no update of "${name}" has made it; remove it, unless someone needs it`;

/**
 * `updater`: another updater got the name first, and the tag is its own. `unclear`: nobody was seen, or an update of
 * another container or by another version of Upkeep has made it. Docker reserves a name before it shows the container,
 * so this waits for an invisible holder.
 */
async function holderOfLock(
  { outside: { engine, clock } }: StepContext,
  { name, oldId }: Member,
): Promise<'updater' | 'stranger' | 'unclear'> {
  let holder = await engine.inspectContainer(transactionName({ role: 'new', name }));
  for (let looks = 1; holder === undefined && looks < maxLooks; looks += 1) {
    await clock.sleep(betweenLooksMs);
    holder = await engine.inspectContainer(transactionName({ role: 'new', name }));
  }
  if (holder === undefined) return 'unclear';
  const reading = readJournal(holder.settings.Config.Labels ?? {});
  if (reading.kind === 'none') return 'stranger';
  return reading.kind === 'journal' && reading.journal.oldId === oldId ? 'updater' : 'unclear';
}

const betweenLooksMs = 200;

const maxLooks = 10;

type RecipeParts = {
  readonly prepared: PreparedTransaction;
  readonly parts: PreparedMember;
  readonly member: Member;
  readonly role: Journal['role'];
  /** The ids of replacements, by the ids of the containers that this one depends on. */
  readonly replaced: ReadonlyMap<string, string>;
};

export function recipeOf(
  { outside, settings, transaction }: StepContext,
  { prepared, parts, member, role, replaced }: RecipeParts,
): ReturnType<typeof recipeFor> {
  const isAutoRemoveReplica = role === 'replica';
  return recipeFor({
    container: withAutoRemove(parts.planned.container, !isAutoRemoveReplica && member.autoRemoves),
    oldImage: parts.oldImage,
    image: parts.planned.reference,
    newImageId: isAutoRemoveReplica ? member.oldImageId : parts.image.id,
    composeImageId: composeImageIdOf(parts, isAutoRemoveReplica),
    journal: sealed(outside, {
      ...member,
      ...(!prepared.info.abilities.changesRestartPolicies && { hasFixedPolicy: true }),
      policy: member.policy ?? { Name: '', MaximumRetryCount: 0 },
      role,
      transaction: transaction.id,
      oldDigest: parts.oldDigest,
      owner: outside.instance.owner,
      ownerContainer: prepared.ownContainer,
      members: transaction.members.map(({ name, oldId }) => ({ name, oldId })),
    }),
    apiVersion: prepared.info.apiVersion,
    engineName: prepared.info.name,
    enginePlatform: prepared.info.platform,
    networks: prepared.networks,
    replacedIds: replacedByIdAndName(transaction, replaced),
    freshVolumes: !isAutoRemoveReplica && getsFreshVolumes(parts.planned, settings),
    policyFromStart: !prepared.info.abilities.changesRestartPolicies,
    leftOut: leftOutFields(settings),
  });
}

/** The value of compose's label for the image. A replica keeps that of the old container. */
export function composeImageIdOf(parts: PreparedMember, isAutoRemoveReplica: boolean): string | undefined {
  const { settings } = parts.planned.container;
  return isAutoRemoveReplica ? settings.Config.Labels?.[composeImageLabel] : parts.composeImageId;
}

function sealed({ seal }: Outside, journal: Journal): Record<string, string> {
  const labels = writeJournal(journal);
  return seal === undefined ? labels : { ...labels, [sealLabel]: seal.sign(sealedText(journal)) };
}

/** The engine names the targets of legacy links by name, and all other targets by id. */
export function replacedByIdAndName(
  { members }: OpenTransaction,
  byOldId: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const replaced = new Map(byOldId);
  for (const { name, oldId } of members) {
    const id = byOldId.get(oldId);
    if (id !== undefined) replaced.set(name, id);
  }
  return replaced;
}

/** Runs a wait for health; other updates may run in the meantime. */
export type WhileAwaitingHealth = <Result>(wait: () => Promise<Result>) => Promise<Result>;

export type StepContext = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly transaction: OpenTransaction;
  /** Undefined in a recovery, which creates no containers. */
  readonly prepared: PreparedTransaction | undefined;
  readonly whileUnproven?: WhileAwaitingHealth | undefined;
  /** The measured size of the data. */
  readonly figures?: DataFigures | undefined;
  readonly onCopied?: ((copied: CopyProgress) => void) | undefined;
  /** In the helper of a door: why the engine cannot be reached through its successor. Undefined when it can. */
  readonly whyDoorClosed?: (() => Promise<string | undefined>) | undefined;
  /** Aborts waits and reads. Steps that must not stop halfway are completed. */
  readonly signal?: AbortSignal | undefined;
};

/** `left`: this process ends before the new versions have proven themselves. */
export type Performed = StepOutcome | { readonly kind: 'left' };

export const nothingPrepared: StepOutcome = { kind: 'refused', status: 0, message: 'nothing was prepared for it' };

/**
 * The image of the planned digest: from the engine if it has it, else pulled. Undefined if it is gone after the pull.
 * Throws if the engine has no image that is proven to be the one whose signature was checked, and if none was checked,
 * but the labels of `oldImage`, the image that the container really runs, show that one is needed. An engine may list
 * another image of the same index.
 */
export async function fetchImage(
  context: FetchContext,
  planned: PlannedMember,
  oldImage: Image | undefined,
  platform: Platform | undefined,
): Promise<Image | undefined> {
  const { engine, verificationKeys } = context.outside;
  const { verified, digest } = planned;
  const held = planned.imageId === undefined ? undefined : await engine.inspectImage(planned.imageId, context.signal);
  if (held !== undefined || planned.mustBeHeld === true) return held;
  if (digest === undefined) return engine.inspectImage(planned.reference, context.signal);
  const { name, settings } = planned.container;
  const effective = effectiveSettings(
    context.settings,
    labelValuesOf({ settings, ...defined({ imageLabels: oldImage?.labels }) }),
  );
  if (verified === undefined && needsSignature(effective, verificationKeys)) throw unchecked(name);
  return verified === undefined
    ? fetchDigest(context, planned, { digest, platform })
    : fetchVerified(context, planned, { digest, platform, verified });
}

const unchecked = (name: string) =>
  new ServiceError(
    'invalid-input',
    `Cannot update ${quoted(name)}: no signature of its new image was checked, because another image of its index has labels that need none`,
    { remedy: 'give it the label upkeep.verify=any, so that one is checked' },
  );

/** Of a pull for a run, which tells its progress. */
export type FetchContext = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly runId: string;
  readonly info: EngineInfo;
  readonly signal: AbortSignal | undefined;
};

type Wanted = { readonly digest: Digest; readonly platform: Platform | undefined };

/**
 * The engine chooses from an index by rules of its own. Its choice is compared with the verified image, and that image
 * is pulled by its own digest if they differ. An index without a signature is not given to the engine.
 */
async function fetchVerified(
  context: FetchContext,
  planned: PlannedMember,
  { digest, platform, verified }: Wanted & { readonly verified: VerifiedImage },
): Promise<Image> {
  const { manifestDigest, isIndexUnsigned } = verified;
  const digests = isIndexUnsigned ? [manifestDigest] : [...new Set([digest, manifestDigest])];
  for (const each of digests) {
    const image = await fetchDigest(context, planned, { digest: each, platform });
    if (image !== undefined && (await isVerified(context, image, verified))) return image;
  }
  const name = quoted(planned.container.name);
  throw new ServiceError(
    'invalid-input',
    `Cannot update ${name}: the engine does not show that its image of "${planned.reference}" is the one whose signature was checked, ${manifestDigest}`,
    { remedy: 'remove that image from the engine, so that it is pulled again' },
  );
}

/**
 * The id of an image is the digest of its config, its manifest or its index. Docker compares the layers with the config.
 * Podman 4 does not, but shows the digests of the manifests that it has pulled. An index proves nothing, unless the
 * engine has only one of its images.
 */
async function isVerified(
  { outside: { engine }, info, signal }: FetchContext,
  image: Image,
  { manifestDigest, configDigest }: VerifiedImage,
): Promise<boolean> {
  if (image.id === manifestDigest) return true;
  if (image.id === configDigest) return info.kind === 'docker' || digestsOf(image).includes(manifestDigest);
  const present = await engine.manifestsIn(image.id, signal);
  return present.length > 0 && present.every((each) => each === manifestDigest);
}

async function fetchDigest(
  { outside, settings, runId, info, signal }: FetchContext,
  { container, reference: text }: PlannedMember,
  { digest, platform }: Wanted,
): Promise<Image | undefined> {
  const reference = withDigest(parseImageReference(text), digest);
  const mayBePresent = outside.picture?.mayHave(digest) ?? true;
  const present = mayBePresent ? await outside.engine.inspectImage(formatReference(reference), signal) : undefined;
  // An index has one digest for all platforms.
  if (present !== undefined && sameArchitecture(present, platform ?? info.platform)) return present;
  const onProgress = (progress: PullProgress) =>
    outside.publish({ kind: 'pull_progress', runId, container: container.name, progress });
  return pull({ outside, settings, signal }, reference, { platform, onProgress });
}

/** An image that the engine had, by its `reference` and `digest`: `docker system prune` removes the one of a moved tag. */
export async function fetchAgain(
  context: Pick<FetchContext, 'outside' | 'settings'>,
  { id }: Image,
  {
    reference: text,
    digest,
    platform,
  }: Pick<PlannedMember, 'reference'> & {
    readonly digest: string;
    readonly platform: Platform | undefined;
  },
): Promise<Image | undefined> {
  const held = await context.outside.engine.inspectImage(id);
  const reference = tryParseImageReference(text);
  if (held !== undefined || reference === undefined || !isDigest(digest)) return held;
  const pulled = await pull({ ...context, signal: undefined }, withDigest(reference, digest), { platform });
  return pulled?.id === id ? pulled : undefined;
}

async function pull(
  { outside: { engine, registry }, settings, signal }: Pick<FetchContext, 'outside' | 'settings' | 'signal'>,
  reference: ImageReference,
  { platform, onProgress }: Pick<PullRequest, 'onProgress'> & { readonly platform: Platform | undefined },
): Promise<Image | undefined> {
  const exact = formatReference(reference);
  const credentials = await registry.credentialsFor(reference, signal);
  const request = { reference: exact, idleTimeoutMs: settings.pullTimeoutMs };
  await engine.pullImage({ ...request, ...defined({ platform, credentials, onProgress }) }, signal);
  return engine.inspectImage(exact, signal);
}

/** A container of another architecture than the engine's keeps its own. An image may have several in the engine. */
export function foreignPlatform(
  container: Pick<Container, 'platform'>,
  oldImage: Image | undefined,
  { platform }: EngineInfo,
): Platform | undefined {
  const own = container.platform ?? oldImage;
  if (own === undefined || sameArchitecture(own, platform)) return undefined;
  const { os, architecture, variant } = own;
  return { os, architecture, variant };
}

/** An image that was pulled before the turn of its container, or why it could not be. */
export type ImageAhead =
  | {
      readonly kind: 'fetched';
      readonly oldImage: Image | undefined;
      readonly image: Image | undefined;
      /** Monotonic. */
      readonly atMs: number;
      readonly tookMs: number;
    }
  | { readonly kind: 'failed'; readonly error: ServiceError };

/** The image that was pulled ahead. After a while it is looked for again, because a prune may have removed it. */
export async function stillHeld({ engine, clock }: Outside, ahead: ImageAhead | undefined): Promise<Image | undefined> {
  if (ahead?.kind !== 'fetched' || ahead.image === undefined) return undefined;
  const isRecent = clock.monotonicMs() - ahead.atMs < unprunedMs;
  return isRecent ? ahead.image : engine.inspectImage(ahead.image.id);
}

const unprunedMs = 30_000;
