import { type Container, isAlive } from '../../domain/container/container.ts';
import { describeError } from '../../domain/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { PlannedRestart } from '../../domain/plan/planned-restarts.ts';
import { downtimeOf } from '../../domain/run/downtime.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { ContainerOutcome, OutcomeKind } from '../../domain/run/session.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import { passGate } from '../health/health.ts';
import { longestPendingStopMs, stopAndHealthPolicyOf } from '../health/stop-and-health-policy.ts';
import { announceEnd, announcePhase, announceStart } from '../transaction/announce.ts';
import { createStopTimes } from '../transaction/facts/stop-times.ts';

/**
 * Restarts the dependents of replaced containers one after another, and adds their outcomes. A dependent that its own
 * update has started is skipped. After an abort nothing more is restarted.
 */
export async function restartDependents(
  outside: Outside,
  settings: ServiceSettings,
  restarts: readonly PlannedRestart[],
  { runId, outcomes }: { readonly runId: string; readonly outcomes: Map<string, ContainerOutcome> },
  signal?: AbortSignal,
): Promise<void> {
  const reached = (id: string) => outcomes.get(id)?.outcome;
  for (const { container, because } of restarts) {
    const cause = because.find(({ id }) => isReplaced(reached(id)));
    const own = reached(container.id);
    if (signal?.aborted || cause === undefined || isReplaced(own) || own === 'rolled_back') continue;
    const { name, imageId } = container;
    const image = container.settings.Config.Image;
    announceStart(outside, runId, { name, image, from: imageId, to: '' });
    announcePhase(outside, runId, name, 'stopping');
    const outcome = await restart(outside, settings, container, cause.name);
    announceEnd(outside, runId, outcome);
    outcomes.set(container.id, outcome);
  }
}

function isReplaced(outcome: OutcomeKind | undefined): boolean {
  return outcome === 'updated' || outcome === 'restarted';
}

async function restart(
  outside: Outside,
  settings: ServiceSettings,
  container: Container,
  cause: string,
): Promise<ContainerOutcome> {
  const { name, imageId, settings: made } = container;
  const digests = { oldDigest: '', newDigest: '' };
  const base = { name, image: made.Config.Image, oldImageId: imageId, newImageId: imageId, ...digests };
  const why = `restarted after the update of ${quoted(cause)}`;
  try {
    const { fault, outage } = await restartAndProve(outside, settings, container);
    return fault === undefined
      ? { ...base, outcome: 'restarted', reason: why, ...outage }
      : { ...base, outcome: 'failed', reason: `${why}: ${fault}`, ...outage };
  } catch (error) {
    return { ...base, outcome: 'failed', reason: `${why}: ${describeError(error)}` };
  }
}

type Restarted = {
  /** The reason of a failure. Undefined when the container runs and is healthy. */
  readonly fault: string | undefined;
  readonly outage: ReturnType<typeof downtimeOf>;
};

/** A failed restart is repeated once. */
async function restartAndProve(outside: Outside, settings: ServiceSettings, container: Container): Promise<Restarted> {
  const { engine } = outside;
  const { id, state: before } = container;
  const { stop } = stopAndHealthPolicyOf(container, settings);
  const stopTimes = createStopTimes();
  await stopTimes.note(outside, id);
  const outcome = await engine.restartContainer(id, stop);
  if (outcome.kind === 'unknown') await engine.waitUntilStopped(id, longestPendingStopMs(stop));
  const now = await engine.inspectContainer(id);
  if (now !== undefined && !isAlive(now.state.status)) await engine.startContainer(id);
  const message = 'message' in outcome ? outcome.message : '';
  const isUntouched = now !== undefined && now.state.startedAt === before.startedAt;
  if (isUntouched && message !== '') return { fault: message, outage: {} };
  const verdict = await passGate(outside, settings, id, { ignoresHealthcheck: before.health === 'unhealthy' });
  const { startedAt, finishedAt } = (await engine.inspectContainer(id))?.state ?? before;
  const endedAt = finishedAt === before.finishedAt ? undefined : finishedAt;
  const hasStarted = startedAt !== before.startedAt && isAlive(before.status);
  const outage = hasStarted ? downtimeOf({ stopSentAtMs: stopTimes.sentAtMs(id), endedAt, startedAt }) : {};
  if (verdict.kind === 'passed') return { fault: undefined, outage };
  return { fault: message === '' ? verdict.reason : `${message}; ${verdict.reason}`, outage };
}
