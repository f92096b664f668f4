import type { StepOutcome } from '../../domain/transaction/memory.ts';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import type { Step, StepKind, StepOf } from '../../domain/transaction/member.ts';
import {
  nothingPrepared,
  createSuccessor,
  createUnderTag,
  recipeOf,
  composeImageIdOf,
  replacedByIdAndName,
  fetchAgain,
  foreignPlatform,
  type Performed,
  type StepContext,
} from './create-successor.ts';
import { maxPendingStopMs, stopAndHealthPolicyOf, passHealthCheck, type HealthVerdict } from '../health/health.ts';
import { askBeforeUpdate, tellAfterUpdate } from '../health/hooks.ts';
import { removeMark, servesForMs, setMark, type OpenTransaction } from './open-transaction.ts';
import { copyFiles } from './hand-over.ts';
import {
  keptMarkTag,
  keptName,
  leftOverName,
  autoRemoveReplicaName,
  parseTransactionName,
} from '../../domain/transaction/transaction-names.ts';
import { armData, clearData, freeReserve, measureData, restoreData, saveData } from './data.ts';
import type { PreparedMember } from './prepare.ts';
import { differences, leftOutFields, parseLink } from '../../domain/container/recipe/container-recipe.ts';
import { getsFreshVolumes } from '../../domain/plan/replacement.ts';
import { withAutoRemove } from '../../domain/transaction/journal.ts';
import type { Container, Network, Endpoint } from '../../domain/container/container.ts';
import { isFailure, type CallOutcome } from '../../domain/outside/engine.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { firstToEnd } from './facts.ts';
import { networkOfEndpoint, withoutAssigned, defaultBridge } from '../../domain/container/recipe/networks.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { Member } from '../../domain/transaction/facts.ts';
import { engineReference, tryParseImageReference } from '../../domain/image/image-reference.ts';

/** Performs a step. Never throws. No answer from the engine gives `unknown`; a bug gives `refused` and is logged. */
export async function perform(context: StepContext, step: Step): Promise<Performed> {
  try {
    return await performStep(context, step);
  } catch (error) {
    if (!(error instanceof ServiceError)) {
      context.outside.log.error('a step of a transaction failed', { step: step.kind, error });
      return { kind: 'refused', status: 0, message: describeError(error) };
    }
    const refused = error.code === 'invalid-input' || error.code === 'not-found' || error.code === 'engine-refused';
    return refused
      ? { kind: 'refused', status: 0, message: error.message }
      : { kind: 'unknown', message: error.message };
  }
}

function performStep<K extends StepKind>(context: StepContext, step: StepOf<K>): Promise<Performed> {
  return performers[step.kind](context, step);
}

/** The engine calls of each kind of step. */
const performers: { readonly [K in StepKind]: (context: StepContext, step: StepOf<K>) => Promise<Performed> } = {
  mark: setMark,
  unmark: removeMark,
  create: createSuccessor,
  autoRemoveReplica: createAutoRemoveReplica,
  connect: connectNetwork,
  copyFiles: ({ outside, transaction }, step) => copyFiles(outside, transaction, step),
  compare: compareCreated,
  rename: renameContainer,
  policy: async ({ outside }, { id, policy, afterPause }) => {
    if (afterPause) await outside.clock.sleep(directorySyncMs);
    return outside.engine.updateRestartPolicy(id, policy);
  },
  stop: stopContainer,
  start: startContainer,
  awaitHealth: (context, step) => {
    const prove = () => passHealthChecks(context, step);
    return context.whileUnproven?.(prove) ?? prove();
  },
  hook: (context, { id, hook }) =>
    hook === 'preUpdate'
      ? askBeforeUpdate(context, id)
      : tellAfterUpdate(context, id, memberOf(id, context.transaction)?.name ?? ''),
  waitOutPendingStop: async ({ outside, settings }, { id }) => {
    const { stop } = stopAndHealthPolicyOf(await outside.engine.inspectContainer(id), settings);
    await outside.engine.waitUntilStopped(id, maxPendingStopMs(stop));
    return { kind: 'done' };
  },
  tag: ({ outside }, { imageId, reference }) => outside.engine.tagImage(imageId, reference),
  remove: ({ outside }, { id }) => outside.engine.removeContainer(id),
  keep: keepOld,
  leave: leaveBehind,
  measureData,
  armData: (context) => armData(context, context.figures),
  saveData,
  restoreData,
  freeReserve,
  clearData,
};

/**
 * Connects by name, as the create does. Docker takes the id of a removed network for the name of one that is still to be
 * created, and the container cannot start then.
 */
async function connectNetwork(
  { outside, prepared }: StepContext,
  { id, networkId, member }: StepOf<'connect'>,
): Promise<StepOutcome> {
  const later = prepared?.members[member]?.laterEndpoints.find((candidate) => candidate.networkId === networkId);
  if (later === undefined) return nothingPrepared;
  const { networkName, endpoint } = later;
  return outside.engine.connectNetwork({ containerId: id, networkId: networkName, endpoint });
}

/**
 * Renames a container. Docker 20.10 answers 404 for a container that has crashed since the facts were read; the next
 * facts show whether it exists. The engine refuses a rename to the present name: the request has then arrived twice,
 * and the rename is ours.
 */
async function renameContainer(
  { outside: { engine } }: StepContext,
  { id, to }: StepOf<'rename'>,
): Promise<StepOutcome> {
  const outcome = await engine.renameContainer(id, to);
  if (outcome.kind !== 'refused') return outcome;
  if (outcome.status === 404) return { kind: 'unknown', message: outcome.message };
  return (await engine.inspectContainer(id))?.name === to ? { kind: 'noop' } : outcome;
}

/** Ext4 and xfs write their journals in order but with a delay. This is many times the duration of a commit. */
const directorySyncMs = 100;

async function stopContainer(
  { outside, settings, transaction }: StepContext,
  { id }: StepOf<'stop'>,
): Promise<StepOutcome> {
  // The timeout, the signal and the labels are fixed at the creation of a container.
  const container = transaction.lastRead.get(id)?.container ?? (await outside.engine.inspectContainer(id));
  await transaction.stopTimes.note(outside, id);
  return outside.engine.stopContainer(id, stopAndHealthPolicyOf(container, settings).stop);
}

/** Renames a container that cannot be removed. Its policy and former state are written as for a kept one. */
function leaveBehind(context: StepContext, { id }: StepOf<'leave'>): Promise<StepOutcome> {
  const { members, successors, autoRemoveReplicas } = context.transaction;
  const member = members.find(({ oldId }) =>
    [oldId, successors.get(oldId), autoRemoveReplicas.get(oldId)].includes(id),
  );
  if (member === undefined) return Promise.resolve(nothingPrepared);
  const { name, policy = { Name: '', MaximumRetryCount: 0 }, wasRunning } = member;
  return renameContainer(context, { kind: 'rename', id, to: leftOverName(id, { name, policy, wasRunning }) });
}

/** Keeps the old container. Its time begins now, by the engine's clock. */
async function keepOld({ outside, transaction }: StepContext, { id }: StepOf<'keep'>): Promise<StepOutcome> {
  const member = transaction.members.find(({ oldId }) => oldId === id);
  if (member === undefined) return nothingPrepared;
  const { name, policy = { Name: '', MaximumRetryCount: 0 }, wasRunning, keepMs } = member;
  const { nowMs } = await outside.engine.info();
  const imageId = (await outside.engine.inspectContainer(id))?.imageId ?? member.oldImageId;
  const marked = await outside.engine.tagImage(imageId, keptMarkTag(id));
  if (isFailure(marked)) return marked;
  return outside.engine.renameContainer(id, keptName({ name, policy, wasRunning, untilMs: nowMs + keepMs }));
}

/** Creates the old container again without `--rm`. It shares the volumes, so that they outlive the old one. */
async function createAutoRemoveReplica(
  context: StepContext,
  { member: index }: StepOf<'autoRemoveReplica'>,
): Promise<StepOutcome> {
  const { transaction, prepared } = context;
  const member = transaction.members[index];
  const parts = prepared?.members[index];
  if (member === undefined || parts?.oldImage === undefined || prepared === undefined) return nothingPrepared;
  const replaced = await replacementsOfRemoved(context);
  const former = partsAsTheyWere(parts);
  const recipe = recipeOf(context, {
    prepared,
    parts: former,
    member: memberAsItWas(member),
    role: 'replica',
    replaced,
  });
  const image = await fetchAgain(context, parts.oldImage, {
    reference: former.planned.reference,
    digest: parts.oldDigest,
    platform: foreignPlatform(parts.planned.container, parts.oldImage, prepared.info),
  });
  if (image === undefined) return { kind: 'refused', status: 404, message: 'its image was removed too' };
  const order = { image, parts: former, keepsTag: true };
  const outcome = await createUnderTag(context, order, autoRemoveReplicaName(member.name), recipe);
  if (outcome.kind === 'done') transaction.autoRemoveReplicas.set(member.oldId, outcome.id);
  return outcome.kind === 'done' ? { kind: 'done' } : outcome;
}

/**
 * The replacements of removed old containers, by their ids. A replica refers to the other old containers while they
 * exist.
 */
async function replacementsOfRemoved({ outside, transaction }: StepContext): Promise<ReadonlyMap<string, string>> {
  const { members, successors, autoRemoveReplicas } = transaction;
  const replaced = new Map<string, string>();
  for (const { oldId } of members) {
    const id = autoRemoveReplicas.get(oldId) ?? successors.get(oldId);
    if (id !== undefined && (await outside.engine.inspectContainer(oldId)) === undefined) replaced.set(oldId, id);
  }
  return replaced;
}

/** Compares a successor with its old container. An unwanted difference ends the update before the first stop. */
async function compareCreated(context: StepContext, { id, member: index }: StepOf<'compare'>): Promise<StepOutcome> {
  const { outside, settings, transaction, prepared } = context;
  const parts = prepared?.members[index];
  const created = transaction.lastRead.get(id)?.container ?? (await outside.engine.inspectContainer(id));
  const member = transaction.members[index];
  if (parts?.oldImage === undefined || created === undefined || member === undefined)
    return { kind: 'unknown', message: 'it is gone' };
  const isAutoRemoveReplica = transaction.autoRemoveReplicas.get(member.oldId) === id;
  if (!isAutoRemoveReplica && runsOther(created, parts))
    return {
      kind: 'refused',
      status: 0,
      message: 'the engine created it from another image than the one that was checked',
    };
  const found = differences(
    withAutoRemove(parts.planned.container, !isAutoRemoveReplica && member.autoRemoves),
    created,
    {
      oldImage: parts.oldImage,
      newImage: isAutoRemoveReplica ? parts.oldImage : parts.image,
      reference: (isAutoRemoveReplica ? partsAsTheyWere(parts) : parts).planned.reference,
      replacedIds: replacedByIdAndName(transaction, transaction.successors),
      freshVolumes: !isAutoRemoveReplica && getsFreshVolumes(parts.planned, settings),
      leftOut: leftOutFields(settings),
      composeImageId: composeImageIdOf(parts, isAutoRemoveReplica),
    },
  );
  if (found.length === 0) return { kind: 'done' };
  const list = found.map(({ field, before, after }) => `${field} would be ${after} instead of ${before}`).join('; ');
  return { kind: 'refused', status: 0, message: `the engine created it differently: ${list}` };
}

/** Someone may move the tag, or pull more of an index, between the proof of the image and the creation. */
function runsOther({ imageId, manifestDigest }: Container, { image, planned: { verified } }: PreparedMember): boolean {
  if (image.configManifest !== undefined && (manifestDigest ?? imageId) !== image.configManifest) return true;
  if (verified === undefined) return false;
  return imageId !== image.id || (manifestDigest !== undefined && manifestDigest !== verified.manifestDigest);
}

/**
 * Starts a container. A refusal because of the command is the image's fault. Others, such as a used port or a full
 * disk, are the host's.
 */
async function startContainer(context: StepContext, { id }: StepOf<'start'>): Promise<StepOutcome> {
  const { outside, transaction } = context;
  const { engine } = outside;
  const outcome = await startInItsNetworks(context, id);
  if (outcome.kind !== 'refused') return outcome;
  const isSuccessor = memberOf(id, transaction) !== undefined;
  const first = isSuccessor ? await firstToEnd(outside, transaction) : undefined;
  if (first !== undefined && first.id !== id) return outcomeOfEnd(first, false);
  const state = (await engine.inspectContainer(id))?.state;
  const isNoted = state !== undefined && commandExitCodes.includes(state.exitCode) && state.error !== '';
  const message = `it cannot be started: ${outcome.message}`;
  return isNoted || outcome.commandUnusable === true
    ? { kind: 'fault', id, message, wasRunningAtFirst: true }
    : outcome;
}

async function startInItsNetworks(context: StepContext, id: string): Promise<CallOutcome> {
  const outcome = await startWithoutStrayLinks(context.outside.engine, id);
  if (outcome.kind !== 'refused') return outcome;
  const restored = await restoreNetworks(context, id, outcome);
  return restored.kind === 'done' ? startWithoutStrayLinks(context.outside.engine, id) : restored;
}

/**
 * Starts the container without a link that leads to the wrong target. A killed engine resolves legacy links again by
 * name, and may find our successor there. A link cannot be changed later; the report says that it is missing.
 */
async function startWithoutStrayLinks(engine: Outside['engine'], id: string): Promise<CallOutcome> {
  const outcome = await engine.startContainer(id);
  if (outcome.kind !== 'refused' || outcome.linkBroken !== true) return outcome;
  const container = await engine.inspectContainer(id);
  const stray = (container?.settings.HostConfig.Links ?? [])
    .map(parseLink)
    .filter(({ target }) => parseTransactionName(target) !== undefined);
  if (container === undefined || stray.length === 0) return outcome;
  for (const { alias } of stray) await engine.removeLink(container.name, alias);
  return engine.startContainer(id);
}

/**
 * Docker's exit codes for a command that cannot run or does not exist:
 * https://docs.docker.com/engine/containers/run/#exit-status
 */
const commandExitCodes: readonly number[] = [126, 127];

/**
 * Connects a container to networks that were removed and exist again. `docker network prune` removes a network in which
 * nothing runs: between the stop of the old container and the start of the new one, this can be theirs. An update knows
 * the networks and creates them; a recovery waits until someone has. Returns the `outcome` that the engine gave, unless
 * it is a 404 for that reason.
 */
async function restoreNetworks(context: StepContext, containerId: string, outcome: CallOutcome): Promise<CallOutcome> {
  if (outcome.kind !== 'refused' || outcome.status !== 404) return outcome;
  const { engine, log } = context.outside;
  const container = await engine.inspectContainer(containerId);
  if (container === undefined) return outcome;
  const present = await engine.listNetworks();
  const lost = lostEndpoints(container, present);
  const parts = partsOf(context, containerId);
  for (const [name, endpoint] of lost) {
    if (present.every((network) => network.name !== name)) {
      const network = parts && networkBefore(context, parts, name);
      if (network === undefined) return outcome;
      const created = await engine.createNetwork(network);
      if (isFailure(created)) {
        const message = `its network ${quoted(name)} was removed, and cannot be created again: ${created.message}`;
        return { ...created, message };
      }
      log.warn('A network was removed during an update, and is created again', { network: name });
    }
    const wanted = parts?.endpoints.get(name) ?? withoutAssigned(endpoint);
    const connected = await engine.connectNetwork({ containerId, networkId: name, endpoint: wanted });
    if (isFailure(connected)) return connected;
  }
  return lost.length > 0 ? { kind: 'done' } : outcome;
}

/** The endpoints whose network does not exist. The default bridge cannot be removed, and Podman calls it otherwise. */
function lostEndpoints({ settings }: Container, present: readonly Network[]): (readonly [string, Endpoint])[] {
  return Object.entries(settings.Networks).filter(
    ([name, endpoint]) => name !== defaultBridge && networkOfEndpoint(present, name, endpoint) === undefined,
  );
}

function partsOf({ transaction, prepared }: StepContext, containerId: string): PreparedMember | undefined {
  const { members, successors, autoRemoveReplicas } = transaction;
  const index = members.findIndex(({ oldId }) =>
    [oldId, successors.get(oldId), autoRemoveReplicas.get(oldId)].includes(containerId),
  );
  return prepared?.members[index];
}

function networkBefore({ prepared }: StepContext, { planned }: PreparedMember, name: string): Network | undefined {
  return networkOfEndpoint(prepared?.networks ?? [], name, planned.container.settings.Networks[name] ?? {});
}

/**
 * Waits for the health of all successors at once, and then for the way through a door. One failure ends the wait, because all of them are rolled back. The
 * end of the process ends it too, after a few seconds in which a short wait ends by itself.
 */
async function passHealthChecks(
  { outside, settings, transaction, whyDoorClosed }: StepContext,
  { ids }: StepOf<'awaitHealth'>,
): Promise<Performed> {
  const callOff = new AbortController();
  const runningAtFirst = new Set<string>();
  let failure: { readonly id: string; readonly verdict: FailedHealth } | undefined;
  let isLeft = false;
  await Promise.all(
    ids.map(async (id) => {
      const member = memberOf(id, transaction);
      const ignoresHealthcheck = member?.wasUnhealthy === true;
      if (ignoresHealthcheck)
        outside.log.warn('An update does not wait for a HEALTHCHECK: the container was unhealthy before', {
          container: member.name,
        });
      const verdict = await passHealthCheck(outside, settings, id, {
        restartsBefore: 0,
        ignoresHealthcheck,
        mayEnd: member?.desiredEndState === 'started',
        mustEnd: member?.desiredEndState === 'completed',
        autoRemoves: member?.autoRemoves === true,
        signal: callOff.signal,
        onPassed: (container) => {
          const untilMs = outside.clock.monotonicMs() + servesForMs;
          if (ids.length === 1) transaction.readBefore.set(id, { container, untilMs });
        },
      });
      if (verdict.kind === 'left') {
        isLeft = true;
        return;
      }
      if (verdict.kind === 'passed' || verdict.wasRunningAtFirst) runningAtFirst.add(id);
      if (verdict.kind !== 'failed' || isLeft) return;
      failure ??= { id, verdict };
      callOff.abort();
    }),
  ).finally(() => callOff.abort());
  if (failure === undefined && !isLeft) {
    const [id] = ids;
    const reason = await whyDoorClosed?.();
    return reason === undefined || id === undefined
      ? { kind: 'done' }
      : outcomeOfEnd({ id, ownFault: true, reason }, runningAtFirst.has(id));
  }
  if (failure === undefined) return { kind: 'left' };
  return await blame({ outside, transaction }, failure, runningAtFirst);
}

type FailedHealth = Extract<HealthVerdict, { readonly kind: 'failed' }>;

async function blame(
  { outside, transaction }: Pick<StepContext, 'outside' | 'transaction'>,
  { id, verdict }: { readonly id: string; readonly verdict: FailedHealth },
  runningAtFirst: ReadonlySet<string>,
): Promise<Performed> {
  const first = await firstToEnd(outside, transaction);
  const autoRemoves = memberOf(id, transaction)?.autoRemoves === true;
  const isSame = first?.id === id && !first.isGone && !autoRemoves && first.ownFault === verdict.ownFault;
  if (first !== undefined && !isSame) return outcomeOfEnd(first, runningAtFirst.has(first.id));
  const { ownFault, reason, wasRunningAtFirst } = verdict;
  return outcomeOfEnd({ id, ownFault, reason }, wasRunningAtFirst);
}

function memberOf(successorId: string, { members, successors }: OpenTransaction): Member | undefined {
  return members.find(({ oldId }) => successors.get(oldId) === successorId);
}

/**
 * The member with the old container's own reference, if its successor gets another tag. Used for a replica of the old
 * container.
 */
function partsAsTheyWere(parts: PreparedMember): PreparedMember {
  const { formerReference, ...planned } = parts.planned;
  const reference = formerReference === undefined ? undefined : tryParseImageReference(formerReference);
  if (formerReference === undefined || reference === undefined) return parts;
  return { ...parts, planned: { ...planned, reference: formerReference }, tag: engineReference(reference) };
}

/** The stored member with the old container's own reference. */
function memberAsItWas(member: Member): Member {
  const { formerReference, ...same } = member;
  return formerReference === undefined ? member : { ...same, reference: formerReference };
}

/** The outcome of the step in which a successor has ended. */
function outcomeOfEnd(
  { id, reason, ownFault }: { readonly id: string; readonly reason: string; readonly ownFault: boolean },
  wasRunningAtFirst: boolean,
): StepOutcome {
  return ownFault
    ? { kind: 'fault', id, message: reason, wasRunningAtFirst }
    : { kind: 'refused', status: 404, message: reason };
}
