import { failedVersionsIn, failedVersionsOf } from '../../domain/check/failed-version.ts';
import { indexImages } from '../../domain/container/lookup.ts';
import type { RollbackOptions, ContainerOutcome, Session } from '../../domain/run/session.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import type { StaleContainer } from '../../domain/plan/update-plan.ts';
import { forgetFailures, rememberFailures } from '../transaction/outcomes.ts';
import { listAll } from '../engine/listing.ts';
import type { InRun } from '../check/checked-container.ts';
import type { Planner } from '../check/make-plan.ts';
import { findReturning, returnToKept } from './return-to-kept.ts';
import { findServicesBack, rollBackServices } from '../swarm/roll-back-services.ts';
import { withImageVersions } from '../update/session-outcomes.ts';
import { runPlan, untouched } from '../update/run-plan.ts';
import { runSession } from '../update/run-session.ts';
import { runTransaction } from '../transaction/run-transaction.ts';
import type { UpdateLock } from '../update/update-lock.ts';
import { findPrevious } from './previous-version.ts';

export type RollbackParts = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly plan: Planner;
  readonly lock: UpdateLock;
};

/**
 * Undoes the last update with a transaction to the earlier image, which the container's journal names. Containers that
 * were updated together are rolled back together. If the old container was kept, it replaces the new one.
 */
export function createRollback({ outside: world, settings, plan: planner, lock }: RollbackParts) {
  const outside = announcingRollbacks(world);
  return async (names: readonly string[], signal?: AbortSignal, order: RollbackOrder = {}): Promise<Session> => {
    const { trigger = 'command', forward = false } = order;
    const leave = await lock.enterInTurn(signal);
    try {
      const services = await findServicesBack(outside, settings, names, signal);
      const others = names.filter((name) => !services.some((service) => service.name === name));
      const previous = await findPrevious(
        outside,
        settings,
        { names: others, forward, suggests: trigger === 'command' },
        signal,
      );
      const rollBack = async (runId: string) => {
        order.onBegin?.(runId);
        const { plan } = await planner(previous, await listAll(outside, signal), signal);
        const perform = returnToKept(await findReturning(outside, plan, signal), runTransaction);
        const reached = await runPlan(outside, settings, plan, { runId, perform }, signal);
        const images = indexImages(await outside.engine.listImages());
        const outcomes = [...reached.values()].map((outcome) => withImageVersions(inWords(outcome), images));
        await rememberRolledBack(outside, outcomes, trigger);
        const doors = (plan.doors ?? []).flatMap(({ members }) =>
          members.map(({ container: { name } }) => ({ name, reason: onlyByHand })),
        );
        const refused = [...plan.refused, ...doors].map(({ name, reason }) =>
          untouched(imageOf(name, previous), 'skipped', reason),
        );
        const ofServices = await rollBackServices(outside, settings, services, runId, signal);
        return [...outcomes, ...refused, ...ofServices.map(inWords)];
      };
      return await runSession(outside, { ...order, trigger }, rollBack, order.part?.runId);
    } finally {
      leave();
    }
  };
}

const onlyByHand = 'It is the way of Upkeep to the engine, which is rolled back only by hand';

function announcingRollbacks(outside: Outside): Outside {
  const publish: Outside['publish'] = (event) => {
    if (event.kind === 'update_started') return outside.publish({ ...event, isRollback: true });
    return outside.publish(event.kind === 'update_completed' ? { ...event, outcome: inWords(event.outcome) } : event);
  };
  return { ...outside, publish };
}

type RollbackOrder = InRun<RollbackOptions>;

function imageOf(name: string, previous: readonly StaleContainer[]) {
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
