import type { Healthcheck } from '../../src/domain/container/container-settings.ts';
import { emitContainerEvent, type SandboxContainer, type SandboxProcess, type World } from './world.ts';

/**
 * Probes as configured by the HEALTHCHECK. A behaviour is constant, so only the deciding probe is simulated:
 * https://docs.docker.com/reference/dockerfile/#healthcheck
 */
export function watchHealth(world: World, container: SandboxContainer, process: SandboxProcess): void {
  if (!isProbed(container)) return;
  container.state = { ...container.state, health: 'starting' };
  const verdict = verdictOf(container, readTimes(container.config.Healthcheck ?? {}));
  const decide = () => {
    container.state = { ...container.state, health: verdict.health, healthOutput: verdict.output };
    emitContainerEvent(world, `health_status: ${verdict.health}`, container);
  };
  process.callOff.push(world.later.in(verdict.afterMs, decide));
}

/** Whether there is a health check that is not disabled. */
export function isProbed({ config }: SandboxContainer): boolean {
  const how = config.Healthcheck?.Test?.[0];
  return how !== undefined && how !== 'NONE';
}

type Times = { readonly intervalMs: number; readonly startPeriodMs: number; readonly retries: number };
type Verdict = { readonly health: 'healthy' | 'unhealthy'; readonly afterMs: number; readonly output: string };

/**
 * The first successful probe makes it healthy. A number of failures in a row after the start period makes it unhealthy.
 */
function verdictOf({ behaviour }: SandboxContainer, { intervalMs, startPeriodMs, retries }: Times): Verdict {
  const { health = { kind: 'healthy' } } = behaviour;
  const firstThatCounts = Math.floor(startPeriodMs / intervalMs) + 1;
  const givesUpAfterMs = (firstThatCounts + retries - 1) * intervalMs;
  if (health.kind === 'unhealthy') return { health: 'unhealthy', afterMs: givesUpAfterMs, output: health.output ?? '' };
  const firstGoodMs = Math.max(1, Math.ceil((health.afterMs ?? 0) / intervalMs)) * intervalMs;
  if (firstGoodMs <= givesUpAfterMs) return { health: 'healthy', afterMs: firstGoodMs, output: '' };
  return { health: 'unhealthy', afterMs: givesUpAfterMs, output: '' };
}

/** Defaults for missing values: 30 s, no start period, three retries. */
function readTimes({ Interval = 0, StartPeriod = 0, Retries = 0 }: Healthcheck): Times {
  const nsPerMs = 1_000_000;
  return { intervalMs: Interval / nsPerMs || 30_000, startPeriodMs: StartPeriod / nsPerMs, retries: Retries || 3 };
}
