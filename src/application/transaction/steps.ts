import { withAutoRemove } from '../../domain/transaction/auto-remove.ts';
import type { Image } from '../../domain/container/container.ts';
import { differences } from '../../domain/container/difference/container-difference.ts';
import { recipeFor } from '../../domain/container/recipe/container-recipe.ts';
import { parseLink } from '../../domain/container/recipe/other-containers.ts';
import { leftOutFields } from '../../domain/container/recipe/left-out.ts';
import { type Journal, readJournal, sealedText, sealLabel, writeJournal } from '../../domain/transaction/journal.ts';
import { keptMarkTag } from '../../domain/transaction/open-mark.ts';
import type { CallOutcome, Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import type { StepKind, StepOf } from '../../domain/transaction/transaction.ts';
import { keptName, parseStandingName, standInName, successorName } from '../../domain/transaction/transaction-names.ts';
import { passCompletion } from '../health/completion.ts';
import { removeMark, setMark } from './marks.ts';
import type { Member, OpenTransaction } from './facts.ts';
import { firstToEnd, type FirstToEnd } from './first-to-end.ts';
import { endedAndGone, type GateVerdict, passGate, vanished } from '../health/health.ts';
import { mannersOf } from '../health/manners.ts';
import { getsFreshVolumes } from '../cleanup/old-volumes.ts';
import type { PreparedMember, PreparedTransaction } from './prepare.ts';
import { askBeforeUpdate, type HookAnswer, tellAfterUpdate } from '../health/update-hooks.ts';

export type StepContext = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly transaction: OpenTransaction;
  /** Undefined in a recovery, which creates nothing. */
  readonly prepared: PreparedTransaction | undefined;
  /** What has been begun is finished all the same, where it must be. */
  readonly signal?: AbortSignal | undefined;
};

/** A step's outcome; `fault` tells a new version that failed from an engine that refused. */
export type StepOutcome =
  | CallOutcome
  | {
      readonly kind: 'fault';
      readonly id: string;
      readonly message: string;
      /** Whether it was up when this process first looked; if not, an engine that was restarted may have ended it. */
      readonly wasSeenWell: boolean;
    }
  | HookAnswer;

/** What each kind of step does to the engine. */
export const performers: { readonly [K in StepKind]: (context: StepContext, step: StepOf<K>) => Promise<StepOutcome> } =
  {
    mark: setMark,
    unmark: removeMark,
    create: createSuccessor,
    standIn: createStandIn,
    connect: ({ outside, prepared }, { id, networkId, member }) => {
      const later = prepared?.members[member]?.laterEndpoints.find((candidate) => candidate.networkId === networkId);
      return outside.engine.connectNetwork({ containerId: id, networkId, endpoint: later?.endpoint ?? {} });
    },
    compare: compareCreated,
    rename: renameContainer,
    policy: async ({ outside }, { id, policy, afterPause }) => {
      if (afterPause) await outside.clock.sleep(directorySyncMs);
      return outside.engine.updateRestartPolicy(id, policy);
    },
    stop: stopContainer,
    start: startContainer,
    gate: passGates,
    hook: (context, { id, hook }) =>
      hook === 'preUpdate'
        ? askBeforeUpdate(context, id)
        : tellAfterUpdate({ ...context, name: memberOf(id, context.transaction)?.name ?? '' }, id),
    outwait: async ({ outside, settings }, { id }) => {
      const { timeoutSeconds } = mannersOf(await outside.engine.inspectContainer(id), settings).stop;
      await outside.engine.waitUntilStopped(id, (timeoutSeconds + graceSeconds) * 1000);
      return { kind: 'done' };
    },
    tag: ({ outside }, { imageId, reference }) => outside.engine.tagImage(imageId, reference),
    remove: ({ outside }, { id }) => outside.engine.removeContainer(id),
    keep: keepOld,
  };

/** All prove themselves at once; when one fails, the others are not waited for, because they go with it. */
async function passGates(
  { outside, settings, transaction }: StepContext,
  { ids }: StepOf<'gate'>,
): Promise<StepOutcome> {
  const callOff = new AbortController();
  const seenWell = new Set<string>();
  let failure: { readonly id: string; readonly verdict: FailedGate } | undefined;
  await Promise.all(
    ids.map(async (id) => {
      const verdict = await gateOf(id, transaction)(outside, settings, id, {
        restartsBefore: 0,
        signal: callOff.signal,
      });
      if (verdict.kind === 'passed' || verdict.wasSeenWell) seenWell.add(id);
      if (verdict.kind !== 'failed') return;
      failure ??= { id, verdict };
      callOff.abort();
    }),
  ).finally(() => callOff.abort());
  return failure === undefined ? { kind: 'done' } : await blame({ outside, transaction }, failure, seenWell);
}

type FailedGate = Extract<GateVerdict, { readonly kind: 'failed' }>;

async function blame(
  { outside, transaction }: Pick<StepContext, 'outside' | 'transaction'>,
  { id, verdict }: { readonly id: string; readonly verdict: FailedGate },
  seenWell: ReadonlySet<string>,
): Promise<StepOutcome> {
  const first = await firstToEnd(outside, transaction);
  const vanishes = memberOf(id, transaction)?.vanishes === true;
  const isTold = first?.id === id && !first.isGone && !vanishes && first.ownFault === verdict.ownFault;
  if (first !== undefined && !isTold) return endedFirst(first, seenWell.has(first.id));
  const isEnded = verdict === vanished && vanishes;
  const { ownFault, reason, wasSeenWell } = isEnded ? { ...endedAndGone, wasSeenWell: false } : verdict;
  return ownFault
    ? { kind: 'fault', id, message: reason, wasSeenWell }
    : { kind: 'refused', status: 404, message: reason };
}

function endedFirst({ id, reason, ownFault }: FirstToEnd, wasSeenWell: boolean): StepOutcome {
  return ownFault
    ? { kind: 'fault', id, message: reason, wasSeenWell }
    : { kind: 'refused', status: 404, message: reason };
}

function gateOf(successorId: string, transaction: OpenTransaction): typeof passGate {
  return memberOf(successorId, transaction)?.afterwards === 'completed' ? passCompletion : passGate;
}

function memberOf(successorId: string, { members, successors }: OpenTransaction): Member | undefined {
  return members.find(({ oldId }) => successors.get(oldId) === successorId);
}

/** Ext4 and xfs write their journal in order but not at once; this is many times what a commit takes. */
const directorySyncMs = 100;

/** How much longer than its timeout a stop that nobody waits for may take. */
const graceSeconds = 2;

async function createSuccessor(context: StepContext, { member: index }: StepOf<'create'>): Promise<StepOutcome> {
  const { transaction, prepared } = context;
  const member = transaction.members[index];
  const parts = prepared?.members[index];
  if (member === undefined || parts === undefined || prepared === undefined) return nothingPrepared;
  const { image, planned } = parts;
  const replaced = transaction.successors;
  const recipe = recipeOf(context, { prepared, parts, member, role: 'successor', replaced });
  const order = { image, parts, keepsTag: planned.cause === 'linked' };
  const outcome = await createUnderTag(context, order, successorName(member.name), recipe);
  if (outcome.kind === 'done') transaction.successors.set(member.oldId, outcome.id);
  if (outcome.kind === 'refused' && outcome.status === 409) {
    const busy = `another update of "${member.name}" is in progress`;
    if (!(await isUnderUpdate(context, member))) return { ...outcome, message: `${busy} (${outcome.message})` };
    transaction.tagsBefore?.delete(member.oldId);
    return { kind: 'declined', message: busy, deferred: true };
  }
  return outcome.kind === 'done' ? { kind: 'done' } : outcome;
}

/** Another updater was the first to have the name: the tag is its business from then on. */
async function isUnderUpdate({ outside }: StepContext, { name, oldId }: Member): Promise<boolean> {
  const holder = await outside.engine.inspectContainer(successorName(name));
  const reading = holder && readJournal(holder.settings.Config.Labels ?? {});
  return reading?.kind === 'journal' && reading.journal.oldId === oldId;
}

/** It is the old container once more, but for `--rm`; it has the same volumes, so that they outlive the old one. */
async function createStandIn(context: StepContext, { member: index }: StepOf<'standIn'>): Promise<StepOutcome> {
  const { transaction, prepared } = context;
  const member = transaction.members[index];
  const parts = prepared?.members[index];
  if (member === undefined || parts?.oldImage === undefined || prepared === undefined) return nothingPrepared;
  const replaced = await inPlaceOfTheGone(context);
  const recipe = recipeOf(context, { prepared, parts, member, role: 'standin', replaced });
  const order = { image: parts.oldImage, parts, keepsTag: true };
  const outcome = await createUnderTag(context, order, standInName(member.name), recipe);
  if (outcome.kind === 'done') transaction.standIns.set(member.oldId, outcome.id);
  return outcome.kind === 'done' ? { kind: 'done' } : outcome;
}

/** A copy of an old container holds on to the others as they were, as long as they are there. */
async function inPlaceOfTheGone({ outside, transaction }: StepContext): Promise<ReadonlyMap<string, string>> {
  const { members, successors, standIns } = transaction;
  const replaced = new Map<string, string>();
  for (const { oldId } of members) {
    const id = standIns.get(oldId) ?? successors.get(oldId);
    if (id !== undefined && (await outside.engine.inspectContainer(oldId)) === undefined) replaced.set(oldId, id);
  }
  return replaced;
}

const nothingPrepared: StepOutcome = { kind: 'refused', status: 0, message: 'nothing was prepared for it' };

type RecipeParts = {
  readonly prepared: PreparedTransaction;
  readonly parts: PreparedMember;
  readonly member: Member;
  readonly role: Journal['role'];
  /** Ids of what takes the place of those that it holds on to, by their ids. */
  readonly replaced: ReadonlyMap<string, string>;
};

function recipeOf(
  { outside, settings, transaction }: StepContext,
  { prepared, parts, member, role, replaced }: RecipeParts,
): ReturnType<typeof recipeFor> {
  const isStandIn = role === 'standin';
  return recipeFor({
    container: withAutoRemove(parts.planned.container, !isStandIn && member.vanishes),
    oldImage: parts.oldImage,
    image: parts.planned.reference,
    newImageId: isStandIn ? member.oldImageId : parts.image.id,
    journal: sealed(outside, {
      role,
      taggedBefore: member.taggedBefore,
      newImageId: parts.image.id,
      vanishes: member.vanishes,
      transaction: transaction.id,
      name: member.name,
      oldId: member.oldId,
      oldImageId: member.oldImageId,
      oldDigest: parts.oldDigest,
      reference: parts.planned.reference,
      policy: member.policy ?? { Name: '', MaximumRetryCount: 0 },
      wasRunning: member.wasRunning,
      afterwards: member.afterwards,
      keepMs: member.keepMs,
      owner: outside.instance.owner,
      ownerContainer: prepared.ownContainer,
      members: transaction.members.map(({ name, oldId }) => ({ name, oldId })),
    }),
    apiVersion: prepared.info.apiVersion,
    engineName: prepared.info.name,
    enginePlatform: prepared.info.platform,
    networks: prepared.networks,
    replacedIds: replacedByIdAndName(transaction, replaced),
    freshVolumes: !isStandIn && getsFreshVolumes(parts.planned, settings),
    policyFromStart: !prepared.info.abilities.changesRestartPolicies,
    leftOut: leftOutFields(settings),
  });
}

function sealed({ seal }: Outside, journal: Journal): Record<string, string> {
  const labels = writeJournal(journal);
  return seal === undefined ? labels : { ...labels, [sealLabel]: seal.sign(sealedText(journal)) };
}

/**
 * Docker 20.10 answers 404 for a container that has crashed since the facts were read: they tell whether it is there.
 * What has the name already is refused too: then the request has arrived twice, and the rename is ours.
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

async function stopContainer(
  { outside, settings, transaction }: StepContext,
  { id }: StepOf<'stop'>,
): Promise<StepOutcome> {
  const container = await outside.engine.inspectContainer(id);
  await transaction.stopTimes.note(outside, id);
  return outside.engine.stopContainer(id, mannersOf(container, settings).stop);
}

/** Its time begins now, by the engine's clock. */
async function keepOld({ outside, transaction }: StepContext, { id }: StepOf<'keep'>): Promise<StepOutcome> {
  const member = transaction.members.find(({ oldId }) => oldId === id);
  if (member === undefined) return nothingPrepared;
  const { name, policy = { Name: '', MaximumRetryCount: 0 }, wasRunning, keepMs } = member;
  const { nowMs } = await outside.engine.info();
  const imageId = (await outside.engine.inspectContainer(id))?.imageId ?? member.oldImageId;
  const marked = await outside.engine.tagImage(imageId, keptMarkTag(id));
  if (marked.kind === 'refused' || marked.kind === 'unknown') return marked;
  return outside.engine.renameContainer(id, keptName({ name, policy, wasRunning, untilMs: nowMs + keepMs }));
}

/** A refusal for the sake of the command is the image's fault; others (a port, a full disk) are the host's. */
async function startContainer({ outside, transaction }: StepContext, { id }: StepOf<'start'>): Promise<StepOutcome> {
  const { engine } = outside;
  const outcome = await startWithoutStrayLinks(engine, id);
  if (outcome.kind !== 'refused') return outcome;
  const isSuccessor = memberOf(id, transaction) !== undefined;
  const first = isSuccessor ? await firstToEnd(outside, transaction) : undefined;
  if (first !== undefined && first.id !== id) return endedFirst(first, false);
  const state = (await engine.inspectContainer(id))?.state;
  const isNoted = state !== undefined && commandExitCodes.includes(state.exitCode) && state.error !== '';
  const message = `it cannot be started: ${outcome.message}`;
  return isNoted || outcome.commandUnusable === true ? { kind: 'fault', id, message, wasSeenWell: true } : outcome;
}

/**
 * An engine that was killed looks up anew, by name, what legacy links lead to, and may find our
 * successor under it. Nothing can be linked to another container afterwards, so the container is started
 * without; the report says so.
 */
async function startWithoutStrayLinks(engine: Outside['engine'], id: string): Promise<CallOutcome> {
  const outcome = await engine.startContainer(id);
  if (outcome.kind !== 'refused' || outcome.linkBroken !== true) return outcome;
  const container = await engine.inspectContainer(id);
  const stray = (container?.settings.HostConfig.Links ?? [])
    .map(parseLink)
    .filter(({ target }) => parseStandingName(target) !== undefined);
  if (container === undefined || stray.length === 0) return outcome;
  for (const { alias } of stray) await engine.removeLink(container.name, alias);
  return engine.startContainer(id);
}

/** What the engine notes for a command that cannot be run or is not there: https://docs.docker.com/engine/containers/run/#exit-status */
const commandExitCodes: readonly number[] = [126, 127];

/** A difference that nobody asked for ends the update before anything is stopped. */
async function compareCreated(context: StepContext, { id, member: index }: StepOf<'compare'>): Promise<StepOutcome> {
  const { outside, settings, transaction, prepared } = context;
  const parts = prepared?.members[index];
  const created = await outside.engine.inspectContainer(id);
  const member = transaction.members[index];
  if (parts?.oldImage === undefined || created === undefined || member === undefined)
    return { kind: 'unknown', message: 'it is gone' };
  const isStandIn = transaction.standIns.get(member.oldId) === id;
  const found = differences(withAutoRemove(parts.planned.container, !isStandIn && member.vanishes), created, {
    oldImage: parts.oldImage,
    newImage: isStandIn ? parts.oldImage : parts.image,
    reference: parts.planned.reference,
    replacedIds: replacedByIdAndName(transaction, transaction.successors),
    freshVolumes: !isStandIn && getsFreshVolumes(parts.planned, settings),
    leftOut: leftOutFields(settings),
  });
  if (found.length === 0) return { kind: 'done' };
  const list = found.map(({ field, before, after }) => `${field} would be ${after} instead of ${before}`).join('; ');
  return { kind: 'refused', status: 0, message: `the engine made something else of it: ${list}` };
}

/** The engine tells of legacy links by name, of everything else by id. */
function replacedByIdAndName(
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

/**
 * The tag must point at the wanted image when the successor is created, because the reference that
 * the container carries stays the same string. What is made of the old image gets that
 * for a moment, wherever the tag points by now.
 */
async function createUnderTag(
  { outside: { engine }, transaction: { tagsBefore } }: StepContext,
  { image, parts: { planned, tag }, keepsTag }: TaggedOrder,
  name: string,
  recipe: ReturnType<typeof recipeFor>,
) {
  if (tag === undefined) return engine.createContainer(name, recipe);
  const tagged = (await engine.inspectImage(planned.reference))?.id;
  if (tagged !== image.id) {
    const { id: oldId, imageId } = planned.container;
    // A second try finds the tag moved by the first.
    if (!keepsTag && tagsBefore?.has(oldId) === false) tagsBefore.set(oldId, tagged ?? imageId);
    const outcome = await engine.tagImage(image.id, tag);
    if (outcome.kind === 'refused' || outcome.kind === 'unknown') return outcome;
  }
  const created = await engine.createContainer(name, recipe);
  if (keepsTag && tagged !== undefined && tagged !== image.id) await engine.tagImage(tagged, tag);
  return created;
}

type TaggedOrder = {
  readonly image: Image;
  readonly parts: PreparedMember;
  /** Afterwards the tag is what it was. */
  readonly keepsTag: boolean;
};
