import { formatDuration } from '../../domain/text/duration.ts';
import { removesItself } from '../../domain/transaction/journal.ts';
import { isAlive, type Container, type Healthcheck } from '../../domain/container/container.ts';
import { maxWaitMs, type HealthProbe } from '../../domain/settings/values/label-values.ts';
import { hideSecrets } from '../../domain/text/hidden-secrets.ts';
import type { EngineInfo, StopOptions } from '../../domain/outside/engine.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { printable } from '../../domain/text/printable.ts';
import {
  effectiveSettings,
  labelValuesOf,
  type ServiceSettings,
  type LabelValues,
} from '../../domain/settings/effective-settings.ts';
import { askProbe, titleOfProbe, whyNotAskable } from './probe.ts';
import { endsSoon } from '../async/concurrency.ts';

export type HealthVerdict =
  | { readonly kind: 'passed' }
  /** `ownFault`: this wait has seen no outside cause. `wasRunningAtFirst`: the container was up at the first inspection. */
  | {
      readonly kind: 'failed';
      readonly reason: string;
      readonly ownFault: boolean;
      readonly wasRunningAtFirst: boolean;
    }
  /** This process ends first. */
  | { readonly kind: 'left' };

type HealthOptions = {
  readonly restartsBefore?: number;
  /** The container only has to run, as one that was unhealthy before. Its label `health` may ask for the same. */
  readonly ignoresHealthcheck?: boolean;
  /** It may be a job: an exit with code 0 passes. */
  readonly mayEnd?: boolean;
  /** It is a job that other containers wait for: it passes when it has exited with code 0. */
  readonly mustEnd?: boolean;
  /** The engine removes it when it stops, so if it is gone it has ended. */
  readonly autoRemoves?: boolean;
  readonly signal?: AbortSignal;
  /** Called with the last inspection of a window that was passed without a probe. */
  readonly onPassed?: (container: Container) => void;
};

/**
 * Waits until a successor is proven: it stays up without a restart for the whole window, its HEALTHCHECK (if any)
 * reports healthy, and then its probe (if any) passes. Any exit is a failure, except that of a job with code 0. `unhealthy` is none before the deadline: a
 * first start may migrate its data. The restart policy is `no` during the wait, so that no restart hides an exit. For engines that cannot change policies later, `restartsBefore: 0` counts
 * restarts before the first inspection. The end of the process ends the wait too, after a few seconds in which a short wait ends by itself.
 */
export async function passHealthCheck(
  outside: Outside,
  settings: ServiceSettings,
  id: string,
  options: HealthOptions = {},
): Promise<HealthVerdict> {
  const soon = endsSoon(outside);
  const signal = AbortSignal.any([soon.signal, options.signal].filter((one) => one !== undefined));
  const gone = options.autoRemoves === true ? { ...endedAndGone, wasRunningAtFirst: false } : vanished;
  let wasRunningAtFirst = false;
  try {
    const first = await outside.engine.inspectContainer(id, soon.signal);
    if (first === undefined) return gone;
    wasRunningAtFirst = isAlive(first.state.status);
    const pass = options.mustEnd === true ? passCompletion : passWindow;
    const verdict = await pass(outside, settings, first, { ...options, signal });
    return verdict === vanished ? gone : verdict;
  } catch (error) {
    if (soon.signal.aborted) return { kind: 'left' };
    if (signal.aborted) return { ...calledOff, wasRunningAtFirst };
    throw error;
  } finally {
    soon.stop();
  }
}

type Pass = (
  outside: Outside,
  settings: ServiceSettings,
  first: Container,
  options: HealthOptions & { readonly signal: AbortSignal },
) => Promise<HealthVerdict>;

/** Throws the signal's reason after an abort. */
const passWindow: Pass = async (
  outside,
  settings,
  first,
  { restartsBefore, ignoresHealthcheck = false, mayEnd = false, signal, onPassed },
) => {
  const { engine, clock } = outside;
  const { id } = first;
  const restarts = restartsBefore ?? first.restartCount;
  const policy = stopAndHealthPolicyOf(first, settings);
  const stopAndHealth = { ...policy, ignoresHealthcheck: policy.ignoresHealthcheck || ignoresHealthcheck };
  const wasRunningAtFirst = isAlive(first.state.status);
  const info = await engine.info(signal);
  const alreadyUpMs = upSince(info, first);
  const begunAt = clock.monotonicMs();
  const { healthProbe } = stopAndHealth;
  const unaskable = await whyNotAskable(outside, healthProbe, first, signal);
  if (unaskable !== undefined) {
    const reason = `its ${titleOfProbe(healthProbe)} cannot be asked: ${unaskable.why}`;
    return { kind: 'failed', reason, ownFault: false, wasRunningAtFirst };
  }
  const runHealthcheck = info.abilities.probesHealth ? undefined : createHealthcheckRuns(outside, first);
  const windowMs = windowFromNowMs(stopAndHealth, alreadyUpMs);
  const proofMs = maxProofMs(first, stopAndHealth);
  const leastMs = healthProbe.kind === 'none' ? 1000 : Math.max(1000, Math.min(proofMs, leastProbingMs));
  const deadlineMs = Math.max(proofMs - alreadyUpMs, leastMs);
  let lastAnswer: string | undefined;
  const pauses = createHealthPauses(outside, id, signal);
  try {
    for (let container: Container | undefined = first; ; container = await engine.inspectContainer(id, signal)) {
      if (container === undefined) return removesItself(first) ? { ...endedAndGone, wasRunningAtFirst } : vanished;
      if (mayEnd && hasDoneItsWork(container)) return { kind: 'passed' };
      const failure = failureOf(container, first, restarts);
      if (failure !== undefined) return { kind: 'failed', ...failure, wasRunningAtFirst };
      const elapsedMs = clock.monotonicMs() - begunAt;
      const { health } = container.state;
      const isUnwell = !stopAndHealth.ignoresHealthcheck && (health === 'starting' || health === 'unhealthy');
      if (isUnwell) await runHealthcheck?.(signal);
      const isWell = elapsedMs >= windowMs && !isUnwell;
      if (isWell) {
        const timeoutMs = Math.max(1000, deadlineMs - elapsedMs);
        lastAnswer = await askProbe(outside, healthProbe, container, { timeoutMs, signal });
        if (lastAnswer === undefined) {
          if (healthProbe.kind === 'none') onPassed?.(container);
          return { kind: 'passed' };
        }
      }
      signal.throwIfAborted();
      if (clock.monotonicMs() - begunAt >= deadlineMs) {
        const what =
          lastAnswer === undefined ? 'it did not become healthy' : `its ${titleOfProbe(healthProbe)} did not pass`;
        const why = lastAnswer === undefined ? unhealthyWords(container) : `: ${lastAnswer}`;
        const withinMs = Math.round((deadlineMs + alreadyUpMs) / 1000) * 1000;
        const reason = `${what} within ${formatDuration(withinMs)}${why}`;
        return { kind: 'failed', reason, ownFault: true, wasRunningAtFirst };
      }
      const isPolled = isUnwell && runHealthcheck !== undefined;
      const remaining = { leftOfWindowMs: windowMs - elapsedMs, leftMs: deadlineMs - elapsedMs };
      await pauses.next({ ...remaining, isProbing: isWell, isPolled });
      signal.throwIfAborted();
    }
  } finally {
    pauses.close();
  }
};

/** Throws the signal's reason after an abort. */
const passCompletion: Pass = async ({ engine }, settings, first, { signal }) => {
  const { id } = first;
  const limitMs = stopAndHealthPolicyOf(first, settings).healthTimeoutMs ?? maxWorkMs;
  const wasRunningAtFirst = isAlive(first.state.status);
  await engine.waitUntilStopped(id, limitMs, signal);
  const { state } = (await engine.inspectContainer(id, signal)) ?? {};
  if (state === undefined) return vanished;
  const failed = (reason: string): HealthVerdict => ({ kind: 'failed', reason, ownFault: true, wasRunningAtFirst });
  if (isAlive(state.status)) return failed(`its work was not done within ${formatDuration(limitMs)}`);
  return state.exitCode === 0 ? { kind: 'passed' } : failed(`its work ended with code ${state.exitCode}`);
};

/**
 * Used without a health timeout. A database migration needs many minutes; a job without progress must not block for a
 * day.
 */
const maxWorkMs = 1_800_000;

/** The verdict after an abort. */
const calledOff = { kind: 'failed', reason: 'its health check was cancelled', ownFault: false } as const;

/**
 * The verdict on a removed container with `--rm`. The engine keeps neither its exit code nor its log, and without
 * events the cause is unknown.
 */
const endedAndGone = {
  kind: 'failed',
  reason: 'it ended, and the engine removed it (--rm)',
  ownFault: true,
} as const;

/** Runs the container's HEALTHCHECK at its interval, beginning at once, for engines that do not run it themselves. */
function createHealthcheckRuns({ engine, clock }: Outside, { id, settings }: Container) {
  const intervalMs = (settings.Config.Healthcheck?.Interval || defaultIntervalNs) / 1e6;
  let dueMs = clock.monotonicMs();
  return async (signal: AbortSignal) => {
    if (clock.monotonicMs() < dueMs) return;
    dueMs = clock.monotonicMs() + intervalMs;
    await engine.probeHealth(id, signal);
  };
}

/** https://docs.docker.com/reference/dockerfile/#healthcheck */
const defaultIntervalNs = 30e9;

/** The least time for a probe. After a crash of Upkeep the deadline may be over before the probe was used. */
const leastProbingMs = 10_000;

/** The longest time between the start of a container and the verdict on it. */
export function maxProofMs({ settings }: Container, policy: StopAndHealthPolicy): number {
  return Math.max(
    policy.healthWindowMs,
    healthDeadlineMs(settings.Config.Healthcheck, policy),
    probeDeadlineMs(policy.healthProbe, policy),
  );
}

/** Used without a health timeout: a probe may fail for this long after the window. */
const probingMs = 60_000;

function probeDeadlineMs({ kind }: HealthProbe, { healthTimeoutMs, healthWindowMs }: StopAndHealthPolicy): number {
  return kind === 'none' ? 0 : (healthTimeoutMs ?? healthWindowMs + probingMs);
}

const vanished: HealthVerdict = {
  kind: 'failed',
  reason: 'someone removed it',
  ownFault: false,
  wasRunningAtFirst: false,
};

function failureOf({ state, restartCount }: Container, first: Container, restartsBefore: number) {
  const own = (reason: string) => ({ reason, ownFault: true });
  if (state.oomKilled && !isAlive(state.status)) return own('it ran out of memory');
  if (!isAlive(state.status))
    return own(`it exited with code ${state.exitCode}${state.error === '' ? '' : ` (${state.error})`}`);
  if (state.status === 'restarting' || restartCount > restartsBefore) return own('it was restarted');
  if (state.startedAt !== first.state.startedAt) return { reason: 'someone restarted it', ownFault: false };
  return undefined;
}

function hasDoneItsWork({ state }: Container): boolean {
  return state.status === 'exited' && state.exitCode === 0 && state.error === '' && !state.oomKilled;
}

/** Continues the reason of a container that is still unhealthy at the deadline. Empty for any other. */
function unhealthyWords({ state: { health, healthOutput }, settings }: Container): string {
  if (health !== 'unhealthy') return '';
  return `, and is unhealthy${healthOutput === '' ? '' : `: ${probeWords(healthOutput, settings)}`}`;
}

/** Probe output for a reason: one line, bounded, and without secrets, because it is kept in the history. */
function probeWords(output: string, { Config }: Container['settings']): string {
  return printable(hideSecrets(output, Config.Env ?? []).trim(), maxProbeWords);
}

const maxProbeWords = 300;

/**
 * After a crash of Upkeep, the time that a successor has already been up counts. It does not count if the clock was set
 * back.
 */
function upSince({ nowMs }: EngineInfo, { state }: Container): number {
  const startedAtMs = Date.parse(state.startedAt);
  return Number.isNaN(startedAtMs) ? 0 : Math.max(0, nowMs - startedAtMs);
}

/**
 * An engine tells of an exit once it has written the start to its disk, which a busy disk delays for seconds: the start
 * and the exit take the same lock, https://github.com/moby/moby/blob/v28.5.2/daemon/start.go. What it says directly
 * after such a start proves nothing, even if the container started long ago.
 */
function windowFromNowMs({ healthWindowMs }: StopAndHealthPolicy, alreadyUpMs: number): number {
  return Math.max(healthWindowMs - alreadyUpMs, Math.min(healthWindowMs, leastWatchedMs));
}

const leastWatchedMs = 1000;

/**
 * The time that a container has to become healthy; 0 if its HEALTHCHECK does not count. Without a health timeout: the start period, all tries of its
 * HEALTHCHECK and one more, and 10 s for the engine, but at least `leastDefaultMs`. It is capped at an hour, because the
 * values may come from the image. Zero means the engine's default:
 * https://docs.docker.com/reference/dockerfile/#healthcheck
 */
export function healthDeadlineMs(
  healthcheck: Healthcheck | null | undefined,
  { healthTimeoutMs, ignoresHealthcheck }: Pick<StopAndHealthPolicy, 'healthTimeoutMs' | 'ignoresHealthcheck'>,
): number {
  if (ignoresHealthcheck) return 0;
  if (healthTimeoutMs !== undefined) return healthTimeoutMs;
  const test = healthcheck?.Test?.[0];
  if (!healthcheck || test === undefined || test === 'NONE') return 0;
  const milliseconds = (nanoseconds: number | undefined, fallback: number) =>
    nanoseconds ? nanoseconds / 1e6 : fallback;
  const attemptMs = milliseconds(healthcheck.Interval, 30_000) + milliseconds(healthcheck.Timeout, 30_000);
  const wholeMs = milliseconds(healthcheck.StartPeriod, 0) + attemptMs * ((healthcheck.Retries || 3) + 1) + 10_000;
  return Math.min(Math.max(wholeMs, leastDefaultMs), maxWaitMs);
}

/** Docker's three failed probes at its own interval of 30 s, and 10 s. A quick HEALTHCHECK does not mean a quick start. */
const leastDefaultMs = 100_000;

/**
 * The pauses between the inspections of a successor. While the engine's event stream is open, an inspection follows
 * each event, and one more at the end of the window finds an exit that no event announced. While the stream is down, a
 * successor is inspected every 250 ms. Events are hints; inspections give the facts.
 */
function createHealthPauses({ engine, clock }: Pick<Outside, 'engine' | 'clock'>, id: string, signal: AbortSignal) {
  const closing = new AbortController();
  let hasBegun = false;
  let isListening = false;
  let heard: 'nothing' | 'stream changed' | 'happened' = 'nothing';
  let wake = () => {};
  let settledAtMs = -Infinity;
  return { next, close: () => closing.abort() };

  /** Pauses until the next inspection is due. Ends early, and does not throw, when the signal aborts. */
  async function next({
    leftOfWindowMs,
    leftMs,
    isProbing,
    isPolled,
  }: {
    /** Time until the end of the window; negative after it. */
    readonly leftOfWindowMs: number;
    /** Time until the deadline, which has not passed. */
    readonly leftMs: number;
    /** A probe has just failed and is to be repeated. */
    readonly isProbing: boolean;
    /** Inspections are due at the polling interval, with or without events. */
    readonly isPolled: boolean;
  }): Promise<void> {
    if (!hasBegun) void listen();
    hasBegun = true;
    if (clock.monotonicMs() < settledAtMs) {
      await clock.sleep(Math.min(pollMs, leftMs), signal).catch(() => undefined);
      return;
    }
    const isInWindow = leftOfWindowMs > 0;
    const maxPauseMs = isPolled || !isListening ? pollMs : isInWindow ? leftOfWindowMs : quietPollMs;
    const lengthMs = isProbing ? probePollMs : Math.min(maxPauseMs, isInWindow ? leftOfWindowMs : leftMs);
    if ((await waitForEvent(lengthMs)) === 'happened') settledAtMs = clock.monotonicMs() + settlingMs;
  }

  /**
   * Resolves after `ms`, or earlier: at an event of this container (`happened`), when the stream opens or breaks, or when
   * the signal aborts.
   */
  async function waitForEvent(ms: number): Promise<typeof heard> {
    if (heard === 'nothing') {
      const woken = new AbortController();
      wake = () => woken.abort();
      await clock.sleep(ms, AbortSignal.any([woken.signal, signal])).catch(() => undefined);
      wake = () => {};
    }
    const latest = heard;
    heard = 'nothing';
    return latest;
  }

  async function listen(): Promise<void> {
    try {
      for await (const event of engine.events(closing.signal, noteBreak)) {
        if (event.kind === 'connected') {
          isListening = true;
          hear('stream changed');
        } else if (event.kind === 'container' && event.id === id && stateChanges.test(event.action)) hear('happened');
      }
    } catch {
      // While the stream is down, the polling interval applies.
    }
    noteBreak();
  }

  function noteBreak(): void {
    if (!isListening) return;
    isListening = false;
    hear('stream changed');
  }

  function hear(what: typeof heard): void {
    if (heard !== 'happened') heard = what;
    wake();
  }
}

/** Short against the start of a container (about 200 ms), long against an inspect call (1 ms). */
const pollMs = 250;

/** Time between the answer to a probe and the next request. */
const probePollMs = 1000;

/** Docker 20.10 announces an exit before an inspection shows it. The container is polled in between. */
const settlingMs = 1000;

/** A lost event must not delay the verdict of a HEALTHCHECK by more than this. */
const quietPollMs = 2000;

/**
 * Changes of the state of a container, in Docker's words and Podman's:
 * https://docs.docker.com/reference/cli/docker/system/events/,
 * https://docs.podman.io/en/latest/markdown/podman-events.1.html
 */
const stateChanges = /^(?:die|oom|health_status|start|stop|restart|pause|unpause|destroy|remove|cleanup)/;

/**
 * The stop and health settings of one container: from its labels, else from its own configuration, else from the
 * service's settings.
 */
type StopAndHealthPolicy = {
  readonly stop: StopOptions & { readonly timeoutSeconds: number };
  readonly healthWindowMs: number;
  /** Undefined: calculated from its HEALTHCHECK. */
  readonly healthTimeoutMs: number | undefined;
  readonly healthProbe: HealthProbe;
  /** Its HEALTHCHECK counts for nothing. */
  readonly ignoresHealthcheck: boolean;
};

/** For an unknown container the settings alone count. */
export function stopAndHealthPolicyOf(
  container: Container | undefined,
  settings: ServiceSettings,
): StopAndHealthPolicy {
  const config = container?.settings.Config;
  const labelSettings: Partial<LabelValues> = container === undefined ? {} : labelValuesOf(container);
  const own = config?.StopTimeout ?? undefined;
  const ownStopTimeoutMs = own === undefined ? settings.stopTimeoutMs : Math.min(own, maxStopSeconds) * 1000;
  const effective = effectiveSettings({ ...settings, stopTimeoutMs: ownStopTimeoutMs }, labelSettings);
  const seconds = effective.stopTimeoutMs / 1000;
  return {
    stop: {
      timeoutSeconds: seconds < 0 ? endlessStopSeconds : Math.ceil(seconds),
      ...(labelSettings.stopSignal === undefined ? {} : { signal: labelSettings.stopSignal }),
    },
    healthWindowMs: effective.healthWindowMs,
    healthTimeoutMs: effective.healthTimeoutMs,
    healthProbe: effective.healthProbe,
    ignoresHealthcheck: labelSettings.health === 'ignore',
  };
}

/** A stop without a waiting caller may exceed its timeout by two seconds. */
export function maxPendingStopMs({ timeoutSeconds }: StopAndHealthPolicy['stop']): number {
  return (timeoutSeconds + 2) * 1000;
}

/** Replaces a stop without a timeout, which a container may configure. */
const endlessStopSeconds = 600;

/** The stop timeout in a container's own configuration may be years, and may come from the image. */
const maxStopSeconds = maxWaitMs / 1000;
