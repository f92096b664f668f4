import type { StepOutcome } from '../../../domain/transaction/memory/step-outcome.ts';
import { describeError, ServiceError } from '../../../domain/errors.ts';
import type { Step, StepKind, StepOf } from '../../../domain/transaction/step.ts';
import { memberOf, nothingPrepared, type Performed, type StepContext } from './step-context.ts';
import { longestPendingStopMs, stopAndHealthPolicyOf } from '../../health/stop-and-health-policy.ts';
import { askBeforeUpdate, tellAfterUpdate } from '../../health/hooks.ts';
import { removeMark, setMark } from '../facts/marks.ts';
import { compareCreated } from './compare.ts';
import { copyFiles } from '../facts/placed-files.ts';
import { createSuccessor } from './create.ts';
import { createAutoRemoveReplica } from './auto-remove-replica.ts';
import { passGates } from './pass-gates.ts';
import { keptMarkTag } from '../../../domain/transaction/transaction-mark.ts';
import { keptName, leftOverName } from '../../../domain/transaction/transaction-names.ts';
import { startContainer } from './start.ts';

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
  gate: (context, step) => {
    const prove = () => passGates(context, step);
    return context.whileUnproven?.(prove) ?? prove();
  },
  hook: (context, { id, hook }) =>
    hook === 'preUpdate'
      ? askBeforeUpdate(context, id)
      : tellAfterUpdate(context, id, memberOf(id, context.transaction)?.name ?? ''),
  waitOutPendingStop: async ({ outside, settings }, { id }) => {
    const { stop } = stopAndHealthPolicyOf(await outside.engine.inspectContainer(id), settings);
    await outside.engine.waitUntilStopped(id, longestPendingStopMs(stop));
    return { kind: 'done' };
  },
  tag: ({ outside }, { imageId, reference }) => outside.engine.tagImage(imageId, reference),
  remove: ({ outside }, { id }) => outside.engine.removeContainer(id),
  keep: keepOld,
  leave: leaveBehind,
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
  const container = transaction.lastRead.get(id) ?? (await outside.engine.inspectContainer(id));
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
  if (marked.kind === 'refused' || marked.kind === 'unknown') return marked;
  return outside.engine.renameContainer(id, keptName({ name, policy, wasRunning, untilMs: nowMs + keepMs }));
}
