import type { Container } from '../../domain/container/container.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import type { Requirement } from '../../domain/plan/planned-transaction.ts';
import { healthDeadlineMs } from '../health/health.ts';
import { stopAndHealthPolicyOf } from '../health/stop-and-health-policy.ts';

/**
 * Why a compose `depends_on` condition is not met yet. Undefined when all are met. Waits for the result of a pending
 * HEALTHCHECK. Conditions on removed containers count as met.
 */
export async function whyNotReady(
  outside: Outside,
  settings: ServiceSettings,
  requirements: readonly Requirement[],
  signal?: AbortSignal,
): Promise<string | undefined> {
  for (const { name, condition } of requirements) {
    const why =
      condition === 'service_healthy'
        ? await whyNotHealthy(outside, settings, name, signal)
        : await whyNotCompleted(outside, name, signal);
    if (why !== undefined) return `It depends on ${quoted(name)}, which ${why}`;
  }
  return undefined;
}

async function whyNotHealthy(
  { engine, clock }: Outside,
  settings: ServiceSettings,
  name: string,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const begunAtMs = clock.monotonicMs();
  for (;;) {
    const container = await engine.inspectContainer(name, signal);
    if (container === undefined) return undefined;
    if (container.state.status !== 'running') return 'must be healthy and does not run';
    if (stopAndHealthPolicyOf(container, settings).ignoresHealthcheck) return undefined;
    if (container.state.health === 'unhealthy') return 'must be healthy and is not';
    if (container.state.health !== 'starting') return undefined;
    if (clock.monotonicMs() - begunAtMs >= longestStartMs(container, settings)) return 'did not become healthy in time';
    await clock.sleep(pollMs, signal);
  }
}

function longestStartMs(container: Container, settings: ServiceSettings): number {
  return healthDeadlineMs(container.settings.Config.Healthcheck, stopAndHealthPolicyOf(container, settings));
}

/** A failed job does not block a container that already runs. */
async function whyNotCompleted({ engine }: Outside, name: string, signal: AbortSignal | undefined) {
  const container = await engine.inspectContainer(name, signal);
  return container?.state.status === 'running' ? 'is still at work' : undefined;
}

/** Short against the seconds that a health check takes. */
const pollMs = 500;
