import { defined } from '../../domain/text/plain-data.ts';
import { failedVersionsIn, failedVersionsOf } from '../../domain/check/known-versions.ts';
import { indexImages, labelsOfImage } from '../../domain/container/lookup.ts';
import type { CopyProgress } from '../../domain/run/event.ts';
import type { RollbackOptions, ContainerOutcome, Session, UpdatePhase } from '../../domain/run/session.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import {
  isExcluded,
  labelValuesOf,
  effectiveSettings,
  type ServiceSettings,
} from '../../domain/settings/effective-settings.ts';
import type { StaleContainer, UpdatePlan, PlannedTransaction } from '../../domain/plan/update-plan.ts';
import {
  forgetFailures,
  rememberFailures,
  announceEnd,
  announcePhase,
  announceStart,
  withDataRemark,
} from '../transaction/outcomes.ts';
import { listAll, imageOf } from '../engine/listing.ts';
import type { InRun } from '../check/checked-container.ts';
import type { Planner } from '../check/make-plan.ts';
import { findServicesBack, rollBackServices } from '../swarm/update-services.ts';
import { withImageVersions, runSession, type UpdateLock } from './session.ts';
import { copiesForRollback } from './kept-data.ts';
import type { ComposeKeeper } from './compose-files.ts';
import { runPlan, untouched } from './run-plan.ts';
import { createPhaseWatch, runTransaction, type RunTransaction } from '../transaction/run-transaction.ts';
import {
  isAlive,
  restartPolicyOf,
  type Container,
  type ContainerSummary,
  type Image,
} from '../../domain/container/container.ts';
import { describeWithRemedy, ServiceError, describeError } from '../../domain/text/errors.ts';
import { transactionLabel, type Journal } from '../../domain/transaction/journal.ts';
import { keptMarksOf } from '../../domain/transaction/transaction-names.ts';
import {
  sameRepository,
  tryParseImageReference,
  parseDigest,
  repositoryName,
  type Digest,
} from '../../domain/image/image-reference.ts';
import {
  keptAmong,
  carrierOf,
  readLastUpdate,
  isNamedIn,
  movedTogether,
  type LastUpdate,
} from '../../domain/recovery/leftovers.ts';
import { quoted } from '../../domain/text/printable.ts';
import { requirePermissions } from '../engine/permissions.ts';
import { passHealthCheck } from '../health/health.ts';
import { armRestore } from '../transaction/data.ts';
import { memberFromJournal, opened } from '../transaction/open-transaction.ts';
import { transact, type TransactOptions } from '../transaction/transact.ts';
import { suggestionFor } from '../../domain/check/selection.ts';
import { versionOf } from '../../domain/image/labels.ts';
import { printTime } from '../../domain/text/duration.ts';
import type { RemoteImage, VerifiedImage } from '../../domain/outside/registry.ts';
import { needsSignature, verifyImage } from '../check/require-signature.ts';

type RollbackParts = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly plan: Planner;
  readonly lock: UpdateLock;
  readonly composeKeeper: Pick<ComposeKeeper, 'keeping' | 'finish'>;
};

/**
 * Undoes the last update with a transaction to the earlier image, which the container's journal names. Containers that
 * were updated together are rolled back together. If the old container was kept, it replaces the new one.
 */
export function createRollback({ outside: world, settings, plan: planner, lock, composeKeeper }: RollbackParts) {
  const outside = announcingRollbacks(world);
  return async (names: readonly string[], signal?: AbortSignal, order: RollbackOrder = {}): Promise<Session> => {
    const { trigger = 'command', forward = false, data, within } = order;
    const leave = await lock.enterInTurn(signal);
    try {
      const services = await findServicesBack(outside, settings, { names, within }, signal);
      const others = names.filter((name) => !services.some((service) => service.name === name));
      const previous = await findPrevious(
        outside,
        settings,
        { names: others, forward, suggests: trigger === 'command' },
        signal,
      );
      const found = previous.map(({ name }) => name);
      const copies = await copiesForRollback(outside, found, data, signal);
      const rollBack = async (runId: string) => {
        order.onBegin?.(runId);
        const { plan } = await planner(previous, await listAll(outside, signal), signal, within);
        const returning = await findReturning(outside, plan, signal);
        if (data === 'restore') requireCopies(plan, returning, copies);
        const perform = composeKeeper.keeping(returnToKept(returning, { data, copies }, runTransaction), 'rollback');
        const reached = await composeKeeper.finish(await runPlan(outside, settings, plan, { runId, perform }, signal));
        const images = indexImages(await outside.engine.listImages());
        const outcomes = [...reached.values()].map((outcome) => withImageVersions(inWords(outcome), images));
        await rememberRolledBack(outside, outcomes, trigger);
        const doors = (plan.doors ?? []).flatMap(({ members }) =>
          members.map(({ container: { name } }) => ({ name, reason: onlyByHand })),
        );
        const refused = [...plan.refused, ...doors].map(({ name, reason }) =>
          untouched(imageInRun(name, previous), 'skipped', reason),
        );
        const ofServices = await rollBackServices(outside, settings, services, { runId, askedBy: trigger }, signal);
        return [...outcomes, ...refused, ...ofServices.map(inWords)];
      };
      return await runSession(outside, { ...order, trigger }, rollBack, order.part?.runId);
    } finally {
      leave();
    }
  };
}

const onlyByHand = 'It carries the connection of Upkeep to the engine, and is rolled back only by hand';

function announcingRollbacks(outside: Outside): Outside {
  const publish: Outside['publish'] = (event) => {
    if (event.kind === 'update_started') return outside.publish({ ...event, isRollback: true });
    return outside.publish(event.kind === 'update_completed' ? { ...event, outcome: inWords(event.outcome) } : event);
  };
  return { ...outside, publish };
}

type RollbackOrder = InRun<RollbackOptions>;

function imageInRun(name: string, previous: readonly StaleContainer[]) {
  return { name, image: previous.find((one) => one.name === name)?.reference ?? '', imageId: '' };
}

function inWords(outcome: ContainerOutcome): ContainerOutcome {
  if (outcome.outcome !== 'updated') return outcome;
  const reason = outcome.reason || 'back to the image from before its last update';
  return { ...outcome, outcome: 'went_back', reason, isTakenBack: true };
}

/** Stores that a person went back from these versions. Forgets what is stored about the restored versions. */
async function rememberRolledBack(
  outside: Outside,
  outcomes: readonly ContainerOutcome[],
  askedBy: string,
): Promise<void> {
  const back = outcomes.filter(({ outcome }) => outcome === 'went_back');
  if (back.length === 0) return;
  await rememberFailures(
    outside,
    back.map(({ name, oldImageId, newImageId }) => ({ name, oldImageId: newImageId, failedImageId: oldImageId })),
    askedBy,
  );
  const remembered = failedVersionsOf(await outside.engine.listImages());
  const overcome = back.flatMap(({ name, newImageId }) =>
    failedVersionsIn(remembered, name).filter(({ imageId }) => imageId === newImageId),
  );
  await forgetFailures(outside, overcome);
}

/** Kept containers that stay long enough, by the id of the container that replaced them, with its journal. */
type Returning = ReadonlyMap<string, Kept>;

type Kept = { readonly old: ContainerSummary; readonly journal: Journal };

/**
 * Kept containers that may be used for the updates of a plan. Their name and a journal are not enough, because anyone
 * may write both: an update's mark or the seal of our key shows that an update has kept the container, and its own
 * reference is of the repository whose tag is moved back to its image.
 */
async function findReturning(
  { engine, seal }: Outside,
  { transactions }: UpdatePlan,
  signal: AbortSignal | undefined,
): Promise<Returning> {
  const kept = keptAmong(await engine.listContainers({}, signal));
  if (kept.length === 0) return new Map();
  const [{ nowMs }, images] = await Promise.all([engine.info(signal), engine.listImages(signal)]);
  const marked = keptMarksOf(images);
  const found = new Map<string, Kept>();
  const alone = transactions.flatMap(({ members }) => (members.length === 1 ? members : []));
  for (const { container } of alone) {
    const last = readLastUpdate(carrierOf(container), seal);
    if (last.kind !== 'update' || last.journal.members.length > 1) continue;
    const { journal, reference, isSealed } = last;
    const old = kept.find((one) => one.container.id === journal.oldId && one.kept.name === container.name);
    const inTime = old !== undefined && old.kept.untilMs > nowMs + marginMs;
    const isAsked =
      inTime && old.container.status === 'exited' && journal.wasRunning === isAlive(container.state.status);
    if (!isAsked || !(isSealed || marked.has(journal.oldId))) continue;
    const made = tryParseImageReference(
      (await engine.inspectContainer(journal.oldId, signal))?.settings.Config.Image ?? '',
    );
    if (made !== undefined && sameRepository(made, reference)) found.set(container.id, { old: old.container, journal });
  }
  return found;
}

type Copies = Awaited<ReturnType<typeof copiesForRollback>>;

/** The data come back only with the kept container that wrote them, from the copy of its last update. */
function requireCopies({ transactions }: UpdatePlan, returning: Returning, copies: Copies): void {
  for (const { container } of transactions.flatMap(({ members }) => members)) {
    const kept = returning.get(container.id);
    const refuse = (why: string, remedy: string) =>
      new ServiceError('invalid-input', `Cannot restore the data of ${quoted(container.name)}: ${why}`, { remedy });
    if (!copies.some((copy) => copy.container === container.name))
      throw refuse('no copy of them is kept', '--data-keep keeps one for a time; --data leave goes back without it');
    if (kept === undefined || !copies.some(({ transaction }) => transaction === kept.journal.transaction))
      throw refuse(
        'the old container of the same update is not kept',
        '--keep-old keeps it for a time; --data leave goes back without the data, and the copy is a volume of plain files',
      );
  }
}

/** A kept container that another run may be about to remove is not used. */
const marginMs = 60_000;

/**
 * Returns to a kept container: reopens the last transaction and undoes it, with the same steps and the same recovery as
 * after a failed version. Other updates are passed to `otherwise`.
 */
function returnToKept(
  returning: Returning,
  { data, copies }: { readonly data: RollbackOptions['data']; readonly copies: Copies },
  otherwise: RunTransaction,
): RunTransaction {
  return async (outside, settings, planned, context, signal) => {
    const [member] = planned.members;
    const kept = member && returning.get(member.container.id);
    if (kept === undefined || planned.members.length > 1)
      return otherwise(outside, settings, planned, { ...context, keepsFormerCopies: data === 'leave' }, signal);
    const copy = copies.find(({ transaction }) => transaction === kept.journal.transaction);
    return [await goBack(outside, settings, planned, { runId: context.runId, data, copy, ...kept })];
  };
}

type Return = Kept & {
  readonly runId: string;
  readonly data: RollbackOptions['data'];
  readonly copy: Copies[number] | undefined;
};

async function goBack(
  outside: Outside,
  settings: ServiceSettings,
  { members: [member] }: PlannedTransaction,
  { runId, old, journal, data, copy }: Return,
): Promise<ContainerOutcome> {
  if (member === undefined) throw new Error('a transaction without members');
  const { container, reference } = member;
  const { name } = container;
  const [from, to] = [container.imageId, old.imageId];
  announceStart(outside, runId, { name, image: reference, from, to });
  const phases = createPhaseWatch(outside.clock);
  const onPhase = (phase: UpdatePhase, copied?: CopyProgress) => {
    phases.enter(name, phase);
    announcePhase(outside, runId, name, phase, defined({ copied }));
  };
  const { fault, isRestored } = await reopen(outside, settings, container, { journal, data, onPhase }).catch(
    (error: unknown): Reopened => {
      if (!(error instanceof ServiceError)) outside.log.error('A kept container could not be brought back', { error });
      return { fault: describeWithRemedy(error) };
    },
  );
  const reached: ContainerOutcome = {
    name,
    image: reference,
    oldImageId: from,
    newImageId: to,
    oldDigest: '',
    newDigest: '',
    ...(fault === undefined || fault === backUnproven
      ? { outcome: 'updated', reason: fault ?? 'back to the kept container from before its last update' }
      : { outcome: 'failed', reason: fault }),
    ...defined({ phases: phases.read(name) }),
  };
  const outcome = isRestored && copy !== undefined ? withRestored(reached, copy) : reached;
  announceEnd(outside, runId, outcome);
  return outcome;
}

function withRestored(outcome: ContainerOutcome, { bytes, files, takenAtMs }: Copies[number]): ContainerOutcome {
  const remarked = withDataRemark({ ...outcome, data: { bytes, files, isRestored: true } });
  return { ...remarked, reason: `${remarked.reason} from the copy of ${printTime(takenAtMs)}` };
}

/** Told in place of a failure: the container runs, and nothing is left to the next start. */
const backUnproven = 'the old container is back; Upkeep was stopped before its health was proven';

type Reopening = Pick<Return, 'journal' | 'data'> & { readonly onPhase: TransactOptions['onPhase'] };

/** `fault`: the reason of a failure. Absent when the old container runs and is healthy. */
type Reopened = { readonly fault?: string; readonly isRestored?: boolean };

async function reopen(
  outside: Outside,
  settings: ServiceSettings,
  container: Container,
  { journal, data, onPhase }: Reopening,
): Promise<Reopened> {
  const { oldId } = journal;
  // Its parked name is the order to restore the data. Without them in the member it gets the other name.
  const { data: copied, ...member } = memberFromJournal(journal);
  const restores = data === 'restore' && copied !== undefined;
  const forbidden = await requirePermissions(outside, `roll ${quoted(container.name)} back`, { pulls: false });
  const info = await outside.engine.info();
  const transaction = opened(
    {
      id: journal.transaction,
      members: [{ ...member, ...(restores && { data: copied }), policy: restartPolicyOf(container) }],
      successors: new Map([[oldId, container.id]]),
      setsNoMarks: forbidden.includes('untag') ? true : undefined,
    },
    info,
  );
  // Nothing is stopped before the helper exists, which also keeps its copy from being removed.
  const armed = restores ? await armRestore({ outside, settings, transaction }) : undefined;
  if (armed !== undefined && armed.kind !== 'done') {
    const why = 'message' in armed ? ` (${armed.message})` : '';
    return { fault: `its data cannot be restored${why}; nothing was stopped` };
  }
  const mode = { kind: 'return' } as const;
  const reached = await transact({ outside, settings, mode, onPhase, transaction });
  const { result, reason, facts, isDataStuck } = reached;
  const now = facts?.members[0]?.old;
  if (isDataStuck) return { fault: reason };
  const { isRestored } = reached.data;
  if (result === 'stuck') return { fault: `${reason}; the next run or start of Upkeep tries again`, isRestored };
  if (result !== 'undone' || now?.place !== 'name')
    return { fault: 'someone removed or renamed the kept container meanwhile', isRestored };
  if (!journal.wasRunning) return { isRestored };
  const verdict = await passHealthCheck(outside, settings, oldId, {
    ignoresHealthcheck: journal.wasUnhealthy === true,
  });
  if (verdict.kind === 'left') return { fault: backUnproven, isRestored };
  if (verdict.kind === 'passed') return { isRestored };
  return { fault: `the old container is back, but ${verdict.reason}`, isRestored };
}

type World = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly signal: AbortSignal | undefined;
};

/**
 * The named containers with the image before their last update, and the containers that were updated together with
 * them. Throws a `ServiceError` for a name without such an image, and `unconfirmed` without `forward` for an image that
 * the container has left before.
 */
async function findPrevious(
  outside: Outside,
  settings: ServiceSettings,
  {
    names,
    forward,
    suggests,
  }: { readonly names: readonly string[]; readonly forward: boolean; readonly suggests: boolean },
  signal: AbortSignal | undefined,
): Promise<readonly StaleContainer[]> {
  const world = { outside, settings, signal };
  const listed = await outside.engine.listContainers({}, signal);
  const found = new Map<string, StaleContainer>();
  for (const name of names) {
    const summary = listed.find((container) => container.name === name);
    if (summary === undefined)
      throw refuse(name, `there is no container of this name${suggests ? suggestionFor(name, listed) : ''}`);
    if (summary.id === outside.instance.containerId)
      throw refuse(name, 'this command runs in it: run it on the host, or in a container of its own');
    const last = await findLastUpdate(world, name, summary.id);
    if (last.kind !== 'update') throw refuse(name, whyNothingToUndo[last.kind]);
    if (!forward) await refuseForward(world, last);
    found.set(last.container.id, await previousOf(world, last));
    for (const other of await othersOf(world, last.journal, listed)) {
      if (found.has(other.container.id) || other.container.imageId === last.journal.oldImageId) continue;
      found.set(other.container.id, await previousOf(world, other));
    }
  }
  return [...found.values()];
}

/** After a rollback, the image before the last update is the newer one again. */
async function refuseForward({ outside: { engine }, signal }: World, { container, journal }: Found): Promise<void> {
  const { name, settings, imageId } = container;
  const images = await engine.listImages(signal);
  const left = failedVersionsIn(failedVersionsOf(images), name).find((one) => one.imageId === journal.oldImageId);
  if (left === undefined) return;
  const known = indexImages(images);
  const version = (id: string) => {
    const shown = versionOf({ labels: labelsOfImage(known.byId(id)), image: settings.Config.Image, digest: id });
    return shown ?? 'another image';
  };
  const [from, to] = [version(imageId), version(journal.oldImageId)];
  const why =
    left.askedBy === undefined
      ? 'to a version that failed here before'
      : `to a version that you went back from on ${printTime(left.atMs)}`;
  throw new ServiceError(
    'unconfirmed',
    `Cannot roll back ${quoted(name)}: this would go forward again${from === to ? '' : `, from ${from} to ${to}`}, ${why}`,
    { remedy: 'nothing was changed; --yes goes forward' },
  );
}

const whyNothingToUndo = {
  none: 'it has not been updated since it was created',
  'kept its image': 'its last update kept its image: it was only recreated with another container',
} as const;

type Found = { readonly container: Container } & Extract<LastUpdate, { kind: 'update' }>;

async function findLastUpdate(
  { outside, signal }: World,
  name: string,
  id: string,
): Promise<Found | { readonly kind: keyof typeof whyNothingToUndo }> {
  const container = await inspectWithLabels(outside, id, signal);
  if (container === undefined) throw refuse(name, 'someone removed it just now');
  if (isExcluded(container)) throw refuse(name, 'it is disabled by its label');
  const last = readLastUpdate(carrierOf(container), outside.seal);
  if (last.kind === 'refused') throw refuse(name, last.reason);
  return last.kind === 'update' ? { container, ...last } : last;
}

/** The container with the labels of its image, from the registry if the engine does not know them. */
async function inspectWithLabels(
  outside: Outside,
  id: string,
  signal: AbortSignal | undefined,
): Promise<Container | undefined> {
  const container = await outside.engine.inspectContainer(id, signal);
  if (container === undefined || container.imageLabels !== undefined) return container;
  await imageOf(outside, container, signal);
  return outside.engine.inspectContainer(id, signal);
}

/**
 * Other members of the last update's group that have not changed since. A container that only claims to be a member is
 * none. A container of an image that was committed from a member has its label too, but no journal of its own.
 */
async function othersOf(
  { outside, signal }: World,
  journal: Journal,
  listed: readonly ContainerSummary[],
): Promise<readonly Found[]> {
  const { transaction, members } = journal;
  const labelled = listed.filter(
    ({ name, labels }) =>
      name !== journal.name &&
      labels[transactionLabel] === transaction &&
      members.some((member) => member.name === name),
  );
  const read = await Promise.all(labelled.map(({ id }) => inspectWithLabels(outside, id, signal)));
  return read.flatMap((container) => {
    const last = container && readLastUpdate(carrierOf(container), outside.seal);
    if (container === undefined || last?.kind !== 'update' || !movedTogether(journal, last.journal)) return [];
    if (isExcluded(container)) throw refuse(container.name, 'it is disabled by its label');
    return [{ container, ...last }];
  });
}

async function previousOf(world: World, found: Found): Promise<StaleContainer> {
  const { container, journal } = found;
  const { id, name } = container;
  const { oldImageId, reference, formerReference } = journal;
  const digest = parseDigest(journal.oldDigest);
  const held = await world.outside.engine.inspectImage(oldImageId, world.signal);
  if (held === undefined && digest === undefined)
    throw refuse(name, 'the engine no longer has its former image, and no registry can supply that image');
  const effective = effectiveSettings(world.settings, labelValuesOf(container));
  const isVerified = needsSignature(effective, world.outside.verificationKeys);
  const isPulled = held === undefined && digest !== undefined;
  const verified = isPulled && isVerified ? await verifyPulled(world, found, { digest, effective }) : undefined;
  if (held !== undefined && !found.isSealed && !isNamedIn(held, found.reference))
    await requireFromRegistry(world, found, held);
  return {
    id,
    name,
    ...(formerReference === undefined ? { reference } : { reference: formerReference, formerReference: reference }),
    digest,
    imageId: oldImageId,
    ...(held !== undefined && isVerified && { mustBeHeld: true as const }),
    ...(verified !== undefined && { verified }),
  };
}

/** An image that has to be pulled needs a signature like a new one, because its digest is only what a label says. */
async function verifyPulled(
  world: World,
  found: Found,
  { digest, effective }: { readonly digest: Digest; readonly effective: ServiceSettings },
): Promise<VerifiedImage | undefined> {
  const { outside, signal } = world;
  const { container, reference } = found;
  const image = await describeFormer(world, found, digest);
  const judged = await verifyImage(outside, effective, { reference, digest, image }, signal);
  if (judged.kind === 'unsigned')
    throw refuse(container.name, `its former image has to be pulled, and is ${judged.why}`);
  return judged.kind === 'signed' ? judged.verified : undefined;
}

/**
 * Not every engine keeps the repository of an image that has lost its tag. Without a seal, the registry has to show it:
 * otherwise a label could give the tag of a repository to an image of someone else.
 */
async function requireFromRegistry(world: World, found: Found, held: Image): Promise<void> {
  const unknown = (why: string) =>
    refuse(
      found.container.name,
      `nothing shows that its former image is of ${quoted(repositoryName(found.reference), 200)}${why}`,
      'nothing was changed; with --state-dir or --journal-key-file, later updates are sealed, which shows it',
    );
  const digest = parseDigest(found.journal.oldDigest);
  if (digest === undefined) throw unknown('');
  const remote = await describeFormer(world, found, digest, held).catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
    throw unknown(`, and the registry does not: ${describeError(error)}`);
  });
  const ids: readonly string[] = [remote.digest, remote.manifestDigest, remote.configDigest];
  if (!ids.includes(held.id)) throw unknown('');
}

async function describeFormer(
  { outside: { engine, registry }, signal }: World,
  { reference, container }: Found,
  digest: Digest,
  held?: Image,
): Promise<RemoteImage> {
  const { os, architecture, variant } = held ?? container.platform ?? (await engine.info(signal)).platform;
  return registry.describe({ reference, digest, platform: { os, architecture, variant } }, signal);
}

function refuse(name: string, why: string, remedy = 'nothing was changed'): ServiceError {
  return new ServiceError('not-found', `Cannot roll back ${quoted(name)}: ${why}`, { remedy });
}
