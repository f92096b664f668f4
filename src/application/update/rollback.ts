import { defined } from '../../domain/text/plain-data.ts';
import { failedVersionsIn, failedVersionsOf } from '../../domain/check/known-versions.ts';
import { indexImages, labelsOfImage, suggestionFor } from '../../domain/container/lookup.ts';
import type { RollbackOptions, ContainerOutcome, Session } from '../../domain/run/session.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import {
  isExcluded,
  labelValuesOf,
  effectiveSettings,
  type ServiceSettings,
} from '../../domain/settings/effective-settings.ts';
import type { StaleContainer, UpdatePlan } from '../../domain/plan/update-plan.ts';
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
import { isAlive, restartPolicyOf, type Container, type Image } from '../../domain/container/container.ts';
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
import { versionOf } from '../../domain/image/labels.ts';
import { printTime } from '../../domain/text/duration.ts';
import { needsSignature, verifyImage } from '../check/require-signature.ts';

/**
 * Undoes the last update with a transaction to the earlier image, which the container's journal names. Containers that
 * were updated together are rolled back together. If the old container was kept, it replaces the new one.
 */
export function createRollback(parts: {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly plan: Planner;
  readonly lock: UpdateLock;
  readonly composeKeeper: Pick<ComposeKeeper, 'keeping' | 'finish'>;
}) {
  const { settings, lock, composeKeeper } = parts;
  const outside = announcingRollbacks(parts.outside);
  return async (
    names: readonly string[],
    signal?: AbortSignal,
    order: InRun<RollbackOptions> = {},
  ): Promise<Session> => {
    const { trigger = 'command', forward = false, data, within } = order;
    const leave = await lock.enterInTurn(signal);
    try {
      const services = await findServicesBack(outside, settings, { names, within }, signal);
      const others = names.filter((name) => !services.some((service) => service.name === name));
      const asked = { names: others, forward, suggests: trigger === 'command' };
      const previous = await findPrevious(outside, settings, asked, signal);
      const affected = previous.map(({ name }) => name);
      const copies = await copiesForRollback(outside, affected, data, signal);
      const rollBack = async (runId: string) => {
        order.onBegin?.(runId);
        const { plan } = await parts.plan(previous, await listAll(outside, signal), signal, within);
        const returning = await findReturning(outside, plan, copies, signal);
        if (data === 'restore') requireCopies(plan, returning, copies);
        const perform = composeKeeper.keeping(returnToKept(returning, data), 'rollback');
        const reached = await composeKeeper.finish(await runPlan(outside, settings, plan, { runId, perform }, signal));
        const images = indexImages(await outside.engine.listImages());
        const outcomes = [...reached.values()].map((outcome) => withImageVersions(asRollback(outcome), images));
        await rememberRolledBack(outside, outcomes, trigger);
        const doors = (plan.doors ?? []).flatMap(({ members }) =>
          members.map(({ container: { name } }) => ({ name, reason: onlyByHand })),
        );
        const refused = [...plan.refused, ...doors].map(({ name, reason }) => {
          const image = previous.find((one) => one.name === name)?.reference ?? '';
          return untouched({ name, image, imageId: '' }, 'skipped', reason);
        });
        const ofServices = await rollBackServices(outside, settings, services, { runId, askedBy: trigger }, signal);
        return [...outcomes, ...refused, ...ofServices.map(asRollback)];
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
    return outside.publish(
      event.kind === 'update_completed' ? { ...event, outcome: asRollback(event.outcome) } : event,
    );
  };
  return { ...outside, publish };
}

function asRollback(outcome: ContainerOutcome): ContainerOutcome {
  if (outcome.outcome !== 'updated') return outcome;
  const reason = outcome.reason || 'back to the image from before its last update';
  return { ...outcome, outcome: 'went_back', reason, isTakenBack: true };
}

/**
 * The named containers with the image before their last update, and the containers that were updated together with
 * them. Throws a `ServiceError` for a name without such an image, and `unconfirmed` without `forward` for an image that
 * the container has left before.
 */
async function findPrevious(
  outside: Outside,
  settings: ServiceSettings,
  asked: { readonly names: readonly string[]; readonly forward: boolean; readonly suggests: boolean },
  signal: AbortSignal | undefined,
): Promise<readonly StaleContainer[]> {
  const { engine, registry, seal } = outside;
  const listed = await engine.listContainers({}, signal);
  const previous = new Map<string, StaleContainer>();
  for (const name of asked.names) {
    const { id } = listed.find((one) => one.name === name) ?? {};
    if (id === undefined)
      throw refuse(name, `there is no container of this name${asked.suggests ? suggestionFor(name, listed) : ''}`);
    if (id === outside.instance.containerId)
      throw refuse(name, 'this command runs in it: run it on the host, or in a container of its own');
    const last = await lastUpdateOf(id);
    if (last === undefined) throw refuse(name, 'someone removed it just now');
    requireEnabled(last.container);
    if (last.kind !== 'update') throw refuse(name, last.kind === 'refused' ? last.reason : nothingToUndo[last.kind]);
    if (!asked.forward) await refuseForward(last);
    previous.set(id, await previousOf(last));
    for (const other of await othersOf(last.journal)) {
      if (previous.has(other.container.id) || other.container.imageId === last.journal.oldImageId) continue;
      previous.set(other.container.id, await previousOf(other));
    }
  }
  return [...previous.values()];

  /** Undefined when the container is gone. */
  async function lastUpdateOf(id: string): Promise<(LastUpdate & { readonly container: Container }) | undefined> {
    let container = await engine.inspectContainer(id, signal);
    if (container !== undefined && container.imageLabels === undefined) {
      // Reads the labels of its image from the registry, for an engine that does not know them.
      await imageOf(outside, container, signal);
      container = await engine.inspectContainer(id, signal);
    }
    return container && { container, ...readLastUpdate(carrierOf(container), seal) };
  }

  /** After a rollback, the image before the last update is the newer one again. */
  async function refuseForward({ container: { name, settings: made, imageId }, journal }: Undoable): Promise<void> {
    const images = await engine.listImages(signal);
    const left = failedVersionsIn(failedVersionsOf(images), name).find((one) => one.imageId === journal.oldImageId);
    if (left === undefined) return;
    const known = indexImages(images);
    const [from, to] = [imageId, journal.oldImageId].map(
      (id) =>
        versionOf({ labels: labelsOfImage(known.byId(id)), image: made.Config.Image, digest: id }) ?? 'another image',
    );
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

  /**
   * Other members of the last update's group that have not changed since. A container that only claims to be a member
   * is none. A container of an image that was committed from a member has its label too, but no journal of its own.
   */
  async function othersOf(journal: Journal): Promise<readonly Undoable[]> {
    const labelled = listed.filter(
      ({ name, labels }) =>
        name !== journal.name &&
        labels[transactionLabel] === journal.transaction &&
        journal.members.some((member) => member.name === name),
    );
    const read = await Promise.all(labelled.map(({ id }) => lastUpdateOf(id)));
    return read.flatMap((last) => {
      if (last?.kind !== 'update' || !movedTogether(journal, last.journal)) return [];
      requireEnabled(last.container);
      return [last];
    });
  }

  async function previousOf(last: Undoable): Promise<StaleContainer> {
    const { container, journal, reference } = last;
    const { id, name } = container;
    const { oldImageId: imageId, formerReference } = journal;
    const digest = parseDigest(journal.oldDigest);
    const held = await engine.inspectImage(imageId, signal);
    const effective = effectiveSettings(settings, labelValuesOf(container));
    const isVerified = needsSignature(effective, outside.verificationKeys);
    const moved = formerReference !== undefined && { formerReference: journal.reference };
    const former = { id, name, reference: formerReference ?? journal.reference, ...moved, digest, imageId };
    if (held !== undefined) {
      if (!last.isSealed && !isNamedIn(held, reference)) await requireFromRegistry(last, held);
      return isVerified ? { ...former, mustBeHeld: true } : former;
    }
    if (digest === undefined)
      throw refuse(name, 'the engine no longer has its former image, and no registry can supply that image');
    if (!isVerified) return former;
    // Its digest is only what a label says, so it needs a signature like a new image.
    const image = await describeFormer(last, digest);
    const judged = await verifyImage(outside, effective, { reference, digest, image }, signal);
    if (judged.kind === 'unsigned') throw refuse(name, `its former image has to be pulled, and is ${judged.why}`);
    return judged.kind === 'signed' ? { ...former, verified: judged.verified } : former;
  }

  /**
   * Not every engine keeps the repository of an image that has lost its tag. Without a seal, the registry has to show
   * it: otherwise a label could give the tag of a repository to an image of someone else.
   */
  async function requireFromRegistry(last: Undoable, held: Image): Promise<void> {
    const unknown = (why: string) =>
      refuse(
        last.container.name,
        `nothing shows that its former image is of ${quoted(repositoryName(last.reference), 200)}${why}`,
        'nothing was changed; with --state-dir or --journal-key-file, later updates are sealed, which shows it',
      );
    const digest = parseDigest(last.journal.oldDigest);
    if (digest === undefined) throw unknown('');
    const remote = await describeFormer(last, digest, held).catch((error: unknown) => {
      if (!(error instanceof ServiceError)) throw error;
      throw unknown(`, and the registry does not: ${describeError(error)}`);
    });
    const ids: readonly string[] = [remote.digest, remote.manifestDigest, remote.configDigest];
    if (!ids.includes(held.id)) throw unknown('');
  }

  async function describeFormer({ reference, container }: Undoable, digest: Digest, held?: Image) {
    const { os, architecture, variant } = held ?? container.platform ?? (await engine.info(signal)).platform;
    return registry.describe({ reference, digest, platform: { os, architecture, variant } }, signal);
  }
}

type Undoable = Extract<LastUpdate, { kind: 'update' }> & { readonly container: Container };

const nothingToUndo = {
  none: 'it has not been updated since it was created',
  'kept its image': 'its last update kept its image: it was only recreated with another container',
} as const;

function requireEnabled(container: Container): void {
  if (isExcluded(container)) throw refuse(container.name, 'it is disabled by its label');
}

function refuse(name: string, why: string, remedy = 'nothing was changed'): ServiceError {
  return new ServiceError('not-found', `Cannot roll back ${quoted(name)}: ${why}`, { remedy });
}

type KeptCopy = Awaited<ReturnType<typeof copiesForRollback>>[number];

/** Kept containers that stay long enough, by the id of the container that replaced them. */
type Returning = ReadonlyMap<string, Kept>;

type Kept = {
  readonly imageId: string;
  /** Of the update that kept it. */
  readonly journal: Journal;
  /** Its data before that update. */
  readonly copy: KeptCopy | undefined;
};

/**
 * Kept containers that may be used for the updates of a plan. Their name and a journal are not enough, because anyone
 * may write both: an update's mark or the seal of our key shows that an update has kept the container, and its own
 * reference is of the repository whose tag is moved back to its image.
 */
async function findReturning(
  { engine, seal }: Outside,
  { transactions }: UpdatePlan,
  copies: readonly KeptCopy[],
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
    const { journal } = last;
    const old = kept.find((one) => one.container.id === journal.oldId && one.kept.name === container.name);
    if (old?.container.status !== 'exited' || old.kept.untilMs <= nowMs + marginMs) continue;
    const isProven = last.isSealed || marked.has(journal.oldId);
    if (!isProven || journal.wasRunning !== isAlive(container.state.status)) continue;
    const made = (await engine.inspectContainer(journal.oldId, signal))?.settings.Config.Image;
    const reference = tryParseImageReference(made ?? '');
    if (reference === undefined || !sameRepository(reference, last.reference)) continue;
    const copy = copies.find(({ transaction }) => transaction === journal.transaction);
    found.set(container.id, { imageId: old.container.imageId, journal, copy });
  }
  return found;
}

/** A kept container that another run may be about to remove is not used. */
const marginMs = 60_000;

/** The data come back only with the kept container that wrote them, from the copy of its last update. */
function requireCopies({ transactions }: UpdatePlan, returning: Returning, copies: readonly KeptCopy[]): void {
  for (const { container } of transactions.flatMap(({ members }) => members)) {
    const refuseData = (why: string, remedy: string) =>
      new ServiceError('invalid-input', `Cannot restore the data of ${quoted(container.name)}: ${why}`, { remedy });
    if (!copies.some((copy) => copy.container === container.name))
      throw refuseData(
        'no copy of them is kept',
        '--data-keep keeps one for a time; --data leave goes back without it',
      );
    if (returning.get(container.id)?.copy === undefined)
      throw refuseData(
        'the old container of the same update is not kept',
        '--keep-old keeps it for a time; --data leave goes back without the data, and the copy is a volume of plain files',
      );
  }
}

/** Runs the transactions of a rollback: one of a kept container brings it back, another creates a new container. */
function returnToKept(returning: Returning, data: RollbackOptions['data']): RunTransaction {
  return async (outside, settings, planned, context, signal) => {
    const [member, ...others] = planned.members;
    const kept = member && returning.get(member.container.id);
    if (member === undefined || kept === undefined || others.length > 0)
      return runTransaction(outside, settings, planned, { ...context, keepsFormerCopies: data === 'leave' }, signal);
    const { container, reference: image } = member;
    const { name, imageId: from } = container;
    const { imageId: to, journal, copy } = kept;
    const { runId } = context;
    announceStart(outside, runId, { name, image, from, to });
    const phases = createPhaseWatch(outside.clock);
    const { fault, isRestored } = await reopen().catch((error: unknown) => {
      if (!(error instanceof ServiceError)) outside.log.error('A kept container could not be brought back', { error });
      return { fault: describeWithRemedy(error), isRestored: undefined };
    });
    const images = { oldImageId: from, newImageId: to, oldDigest: '', newDigest: '' };
    const reached: ContainerOutcome = {
      ...{ name, image, ...images },
      outcome: fault === undefined || fault === backUnproven ? 'updated' : 'failed',
      reason: fault ?? 'back to the kept container from before its last update',
      ...defined({ phases: phases.read(name) }),
    };
    const outcome = isRestored && copy !== undefined ? withRestored(reached, copy) : reached;
    announceEnd(outside, runId, outcome);
    return [outcome];

    /**
     * Opens the last transaction again and undoes it, with the same steps and the same recovery as after a failed
     * version. `fault`: the reason of a failure, absent when the old container runs and is healthy.
     */
    async function reopen(): Promise<{ readonly fault?: string; readonly isRestored?: boolean }> {
      // Its parked name is the order to restore the data. Without them in the member it gets the other name.
      const { data: copied, ...old } = memberFromJournal(journal);
      const restores = data === 'restore' && copied !== undefined;
      const forbidden = await requirePermissions(outside, `roll ${quoted(name)} back`, { pulls: false });
      const transaction = opened(
        {
          id: journal.transaction,
          members: [{ ...old, ...(restores && { data: copied }), policy: restartPolicyOf(container) }],
          successors: new Map([[journal.oldId, container.id]]),
          setsNoMarks: forbidden.includes('untag') ? true : undefined,
        },
        await outside.engine.info(),
      );
      // Nothing is stopped before the helper exists, which also keeps its copy from being removed.
      const armed = restores ? await armRestore({ outside, settings, transaction }) : undefined;
      if (armed !== undefined && armed.kind !== 'done') {
        const why = 'message' in armed ? ` (${armed.message})` : '';
        return { fault: `its data cannot be restored${why}; nothing was stopped` };
      }
      const onPhase: TransactOptions['onPhase'] = (phase, progress) => {
        phases.enter(name, phase);
        announcePhase(outside, runId, name, phase, defined({ copied: progress }));
      };
      const undone = await transact({ outside, settings, mode: { kind: 'return' }, onPhase, transaction });
      const { result, reason, facts } = undone;
      if (undone.isDataStuck) return { fault: reason };
      const { isRestored } = undone.data;
      if (result === 'stuck') return { fault: `${reason}; the next run or start of Upkeep tries again`, isRestored };
      if (result !== 'undone' || facts?.members[0]?.old?.place !== 'name')
        return { fault: 'someone removed or renamed the kept container meanwhile', isRestored };
      if (!journal.wasRunning) return { isRestored };
      const ignoresHealthcheck = journal.wasUnhealthy === true;
      const verdict = await passHealthCheck(outside, settings, journal.oldId, { ignoresHealthcheck });
      if (verdict.kind === 'passed') return { isRestored };
      return {
        fault: verdict.kind === 'left' ? backUnproven : `the old container is back, but ${verdict.reason}`,
        isRestored,
      };
    }
  };
}

/** Told in place of a failure: the container runs, and nothing is left to the next start. */
const backUnproven = 'the old container is back; Upkeep was stopped before its health was proven';

function withRestored(outcome: ContainerOutcome, { bytes, files, takenAtMs }: KeptCopy): ContainerOutcome {
  const remarked = withDataRemark({ ...outcome, data: { bytes, files, isRestored: true } });
  return { ...remarked, reason: `${remarked.reason} from the copy of ${printTime(takenAtMs)}` };
}

/** Stores that a person went back from these versions. Forgets what is stored about the restored versions. */
async function rememberRolledBack(
  outside: Outside,
  outcomes: readonly ContainerOutcome[],
  askedBy: string,
): Promise<void> {
  const back = outcomes.filter(({ outcome }) => outcome === 'went_back');
  if (back.length === 0) return;
  const left = back.map((one) => ({ name: one.name, oldImageId: one.newImageId, failedImageId: one.oldImageId }));
  await rememberFailures(outside, left, askedBy);
  const remembered = failedVersionsOf(await outside.engine.listImages());
  const overcome = back.flatMap(({ name, newImageId }) =>
    failedVersionsIn(remembered, name).filter(({ imageId }) => imageId === newImageId),
  );
  await forgetFailures(outside, overcome);
}
