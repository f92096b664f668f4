import type { StepOutcome } from '../../../domain/transaction/memory/step-outcome.ts';
import type { StepKind, StepOf } from '../../../domain/transaction/step.ts';
import { stopAndHealthPolicyOf } from '../../health/stop-and-health-policy.ts';
import { askBeforeUpdate, tellAfterUpdate } from '../../health/update-hooks.ts';
import { removeMark, setMark } from '../facts/marks.ts';
import { compareCreated } from './compare.ts';
import { createAutoRemoveReplica, createSuccessor } from './create.ts';
import { keepOld } from './keep.ts';
import { passGates } from './pass-gates.ts';
import { renameContainer } from './rename.ts';
import { startContainer } from './start.ts';
import type { StepContext } from './step-context.ts';
import { stopContainer } from './stop.ts';
import { memberOf } from './successor.ts';

/** The engine calls of each kind of step. */
export const performers: { readonly [K in StepKind]: (context: StepContext, step: StepOf<K>) => Promise<StepOutcome> } =
  {
    mark: setMark,
    unmark: removeMark,
    create: createSuccessor,
    autoRemoveReplica: createAutoRemoveReplica,
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
    gate: (context, step) => {
      const prove = () => passGates(context, step);
      return context.whileUnproven?.(prove) ?? prove();
    },
    hook: (context, { id, hook }) =>
      hook === 'preUpdate'
        ? askBeforeUpdate(context, id)
        : tellAfterUpdate({ ...context, name: memberOf(id, context.transaction)?.name ?? '' }, id),
    waitOutPendingStop: async ({ outside, settings }, { id }) => {
      const { timeoutSeconds } = stopAndHealthPolicyOf(await outside.engine.inspectContainer(id), settings).stop;
      await outside.engine.waitUntilStopped(id, (timeoutSeconds + graceSeconds) * 1000);
      return { kind: 'done' };
    },
    tag: ({ outside }, { imageId, reference }) => outside.engine.tagImage(imageId, reference),
    remove: ({ outside }, { id }) => outside.engine.removeContainer(id),
    keep: keepOld,
  };

/** Ext4 and xfs write their journals in order but with a delay. This is many times the duration of a commit. */
const directorySyncMs = 100;

/** A stop without a waiting caller may exceed its timeout by this much. */
const graceSeconds = 2;
