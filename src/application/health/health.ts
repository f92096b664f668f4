import { removesItself } from '../../domain/transaction/auto-remove.ts';
import { type Container, type ContainerSettings, type Healthcheck, isAlive } from '../../domain/container/container.ts';
import type { HealthProbe } from '../../domain/settings/values/health-probe.ts';
import { longestWaitMs } from '../../domain/settings/values/label-values.ts';
import { hideSecrets } from '../../domain/text/last-words.ts';
import type { EngineInfo } from '../../domain/outside/engine-reader.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { printable } from '../../domain/text/printable.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import { type StopAndHealthPolicy, stopAndHealthPolicyOf } from './stop-and-health-policy.ts';
import { createGatePauses } from './gate-pauses.ts';
import { askProbe, titleOfProbe, whyNotAskable } from './probe.ts';

export type GateVerdict =
  | { readonly kind: 'passed' }
  /** `ownFault`: nobody else is to blame, as far as this wait has seen; `wasSeenWell`: it was up at the first look. */
  | {
      readonly kind: 'failed';
      readonly reason: string;
      readonly ownFault: boolean;
      readonly wasSeenWell: boolean;
    };

export type GateOptions = {
  readonly restartsBefore?: number;
  readonly signal?: AbortSignal;
  /** Called with the inspection at the end of a window that was passed without a probe. */
  readonly onPassed?: (container: Container) => void;
};

/**
 * Waits until a successor has proven itself: up without a restart for the whole window, healthy
 * where it has a HEALTHCHECK, and then its probe has passed, where it is to have one. Any exit in between is a failure: its restart policy is `no` for now,
 * so that no restart hides it. Where an engine cannot change policies later, `restartsBefore: 0` tells
 * of restarts before the first look.
 */
export async function passGate(
  outside: Outside,
  settings: ServiceSettings,
  id: string,
  { restartsBefore, signal, onPassed }: GateOptions = {},
): Promise<GateVerdict> {
  const { engine, clock } = outside;
  const first = await engine.inspectContainer(id);
  if (first === undefined) return vanished;
  const restarts = restartsBefore ?? first.restartCount;
  const stopAndHealth = stopAndHealthPolicyOf(first, settings);
  const wasSeenWell = isAlive(first.state.status);
  const info = await engine.info();
  const alreadyUpMs = upSince(info, first);
  const begunAt = clock.monotonicMs();
  const { healthProbe } = stopAndHealth;
  const unaskable = await whyNotAskable(outside, healthProbe, first);
  if (unaskable !== undefined) {
    const reason = `its ${titleOfProbe(healthProbe)} cannot be asked: ${unaskable.why}`;
    return { kind: 'failed', reason, ownFault: false, wasSeenWell };
  }
  const runHealthcheck = info.abilities.probesHealth ? undefined : createHealthcheckRuns(outside, first);
  const windowMs = Math.max(0, stopAndHealth.gateWindowMs - alreadyUpMs);
  const totalMs = Math.max(
    healthDeadlineMs(first.settings.Config.Healthcheck, stopAndHealth),
    probeDeadlineMs(healthProbe, stopAndHealth),
  );
  const leastMs = healthProbe.kind === 'none' ? 1000 : Math.max(1000, Math.min(totalMs, leastProbingMs));
  const deadlineMs = Math.max(windowMs, totalMs - alreadyUpMs, leastMs);
  let lastAnswer: string | undefined;
  const pauses = createGatePauses(outside, id, signal);
  try {
    for (let container: Container | undefined = first; ; container = await engine.inspectContainer(id)) {
      if (container === undefined) return removesItself(first) ? { ...endedAndGone, wasSeenWell } : vanished;
      const failure = failureOf(container, first, restarts);
      if (failure !== undefined) return { kind: 'failed', ...failure, wasSeenWell };
      const elapsedMs = clock.monotonicMs() - begunAt;
      const { health } = container.state;
      if (health === 'starting') await runHealthcheck?.();
      const isWell = elapsedMs >= windowMs && health !== 'starting';
      if (isWell) {
        lastAnswer = await askProbe(outside, healthProbe, container, Math.max(1000, deadlineMs - elapsedMs));
        if (lastAnswer === undefined) {
          if (healthProbe.kind === 'none') onPassed?.(container);
          return { kind: 'passed' };
        }
      }
      if (clock.monotonicMs() - begunAt >= deadlineMs) {
        const what =
          lastAnswer === undefined ? 'it did not become healthy' : `its ${titleOfProbe(healthProbe)} did not pass`;
        const why = lastAnswer === undefined ? '' : `: ${lastAnswer}`;
        const reason = `${what} within ${Math.round((deadlineMs + alreadyUpMs) / 1000)} s${why}`;
        return { kind: 'failed', reason, ownFault: true, wasSeenWell };
      }
      const isPolled = health === 'starting' && runHealthcheck !== undefined;
      const left = { leftOfWindowMs: windowMs - elapsedMs, leftMs: deadlineMs - elapsedMs };
      await pauses.next({ ...left, isProbing: isWell, isPolled });
      if (signal?.aborted) return { ...calledOff, wasSeenWell };
    }
  } finally {
    pauses.close();
  }
}

/** Nobody needs the verdict any more. */
export const calledOff = { kind: 'failed', reason: 'its proof was called off', ownFault: false } as const;

/**
 * Verdict for a container with `--rm` that is gone: without events, the engine keeps neither its exit code
 * nor its log.
 */
export const endedAndGone = {
  kind: 'failed',
  reason: 'it ended, and the engine removed it (--rm)',
  ownFault: true,
} as const;

/** Where the engine leaves HEALTHCHECKs to others: runs one in the intervals that it asks for, the first one at once. */
function createHealthcheckRuns({ engine, clock }: Outside, { id, settings }: Container): () => Promise<void> {
  const intervalMs = (settings.Config.Healthcheck?.Interval || defaultIntervalNs) / 1e6;
  let dueMs = clock.monotonicMs();
  return async () => {
    if (clock.monotonicMs() < dueMs) return;
    dueMs = clock.monotonicMs() + intervalMs;
    await engine.probeHealth(id);
  };
}

/** https://docs.docker.com/reference/dockerfile/#healthcheck */
const defaultIntervalNs = 30e9;

/** After a crash of ours there may be no time left of a deadline that has not been used. */
const leastProbingMs = 10_000;

/** Where no health timeout is given: a probe may fail for this long after the window. */
const probingMs = 60_000;

function probeDeadlineMs({ kind }: HealthProbe, { gateTimeoutMs, gateWindowMs }: StopAndHealthPolicy): number {
  return kind === 'none' ? 0 : (gateTimeoutMs ?? gateWindowMs + probingMs);
}

export const vanished: GateVerdict = {
  kind: 'failed',
  reason: 'somebody removed it',
  ownFault: false,
  wasSeenWell: false,
};

type Failure = { readonly reason: string; readonly ownFault: boolean };

function failureOf(
  { state, restartCount, settings }: Container,
  first: Container,
  restartsBefore: number,
): Failure | undefined {
  const own = (reason: string): Failure => ({ reason, ownFault: true });
  if (state.oomKilled && !isAlive(state.status)) return own('it ran out of memory');
  if (!isAlive(state.status))
    return own(`it exited with code ${state.exitCode}${state.error === '' ? '' : ` (${state.error})`}`);
  if (state.status === 'restarting' || restartCount > restartsBefore) return own('it was restarted');
  if (state.startedAt !== first.state.startedAt) return { reason: 'somebody restarted it', ownFault: false };
  if (state.health === 'unhealthy')
    return own(`it is unhealthy${state.healthOutput === '' ? '' : `: ${probeWords(state.healthOutput, settings)}`}`);
  return undefined;
}

/** Probe output for a reason: one line, bounded, without secrets, because the history shows it. */
function probeWords(output: string, { Config }: ContainerSettings): string {
  return printable(hideSecrets(output, Config.Env ?? []).trim(), longestProbeWords);
}

const longestProbeWords = 300;

/** After a crash of ours, the time that a successor has been up already counts; a clock that jumped back does not. */
function upSince({ nowMs }: EngineInfo, { state }: Container): number {
  const startedAtMs = Date.parse(state.startedAt);
  return Number.isNaN(startedAtMs) ? 0 : Math.max(0, nowMs - startedAtMs);
}

/**
 * The longest that a HEALTHCHECK may take for its verdict: the start period, all tries and one more,
 * and 10 s for the engine, but no more than an hour, because it may come from the image. Zero values mean the engine's defaults:
 * https://docs.docker.com/reference/dockerfile/#healthcheck
 */
export function healthDeadlineMs(
  healthcheck: Healthcheck | null | undefined,
  { gateTimeoutMs }: Pick<StopAndHealthPolicy, 'gateTimeoutMs'>,
): number {
  if (gateTimeoutMs !== undefined) return gateTimeoutMs;
  const test = healthcheck?.Test?.[0];
  if (!healthcheck || test === undefined || test === 'NONE') return 0;
  const milliseconds = (nanoseconds: number | undefined, fallback: number) =>
    nanoseconds ? nanoseconds / 1e6 : fallback;
  const attemptMs = milliseconds(healthcheck.Interval, 30_000) + milliseconds(healthcheck.Timeout, 30_000);
  const wholeMs = milliseconds(healthcheck.StartPeriod, 0) + attemptMs * ((healthcheck.Retries || 3) + 1) + 10_000;
  return Math.min(wholeMs, longestWaitMs);
}
