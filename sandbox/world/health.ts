import type { Healthcheck } from '../../src/domain/container/container-settings.ts';
import { emitContainerEvent, type SandboxContainer, type SandboxProcess, type World } from './world.ts';

/**
 * Probes as configured by the HEALTHCHECK. A behaviour is constant, so only the deciding probes are simulated:
 * https://docs.docker.com/reference/dockerfile/#healthcheck
 */
export function watchHealth(world: World, container: SandboxContainer, process: SandboxProcess): void {
  if (!isProbed(container)) return;
  container.state = { ...container.state, health: 'starting' };
  for (const { health, output, afterMs } of verdictsOf(container, readTimes(container.config.Healthcheck ?? {}))) {
    const decide = () => {
      container.state = { ...container.state, health, healthOutput: output };
      emitContainerEvent(world, `health_status: ${health}`, container);
    };
    process.callOff.push(world.later.in(afterMs, decide));
  }
}

/** Whether there is a health check that is not disabled. */
export function isProbed({ config }: SandboxContainer): boolean {
  const how = config.Healthcheck?.Test?.[0];
  return how !== undefined && how !== 'NONE';
}

type Times = { readonly intervalMs: number; readonly startPeriodMs: number; readonly retries: number };
type Verdict = { readonly health: 'healthy' | 'unhealthy'; readonly afterMs: number; readonly output: string };

/**
 * A number of failures in a row after the start period makes it unhealthy. The first successful probe makes it healthy,
 * also after that.
 */
function verdictsOf({ behaviour }: SandboxContainer, { intervalMs, startPeriodMs, retries }: Times): Verdict[] {
  const { health = { kind: 'healthy' } } = behaviour;
  const firstThatCounts = Math.floor(startPeriodMs / intervalMs) + 1;
  const givesUpAfterMs = (firstThatCounts + retries - 1) * intervalMs;
  const output = health.kind === 'unhealthy' ? (health.output ?? '') : '';
  const unhealthy: Verdict = { health: 'unhealthy', afterMs: givesUpAfterMs, output };
  if (health.kind === 'unhealthy') return [unhealthy];
  const firstGoodMs = Math.max(1, Math.ceil((health.afterMs ?? 0) / intervalMs)) * intervalMs;
  const healthy: Verdict = { health: 'healthy', afterMs: firstGoodMs, output: '' };
  return firstGoodMs <= givesUpAfterMs ? [healthy] : [unhealthy, healthy];
}

/** Defaults for missing values: 30 s, no start period, three retries. */
function readTimes({ Interval = 0, StartPeriod = 0, Retries = 0 }: Healthcheck): Times {
  const nsPerMs = 1_000_000;
  return { intervalMs: Interval / nsPerMs || 30_000, startPeriodMs: StartPeriod / nsPerMs, retries: Retries || 3 };
}
