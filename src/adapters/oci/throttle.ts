import { formatDuration, parseDuration } from '../../domain/text/duration.ts';
import type { Clock } from '../../domain/outside/outside.ts';
import { errorTextOf, rawErrorTextOf } from './answer.ts';
import { HttpFailure, readRetryAfter, type WireAnswer } from '../http/exchange.ts';
import { createSlots, abortReasonOf, orAborted } from '../../domain/concurrency.ts';
import { setMaxListeners } from 'node:events';

/** Limits of waiting and retrying before the caller gets an error. */
export type RetryBounds = {
  /** Number of retries after a broken connection or an answer of 500 and above. */
  readonly faults: number;
  /** Number of retries after a pause that the host requested. */
  readonly refusals: number;
  /** Total time of these pauses. */
  readonly budgetMs: number;
};

export const usualRetries: RetryBounds = { faults: 2, refusals: 3, budgetMs: 30_000 };

/** For a request with an alternative. */
export const noRetries: RetryBounds = { faults: 0, refusals: 0, budgetMs: 0 };

/**
 * Sends a request within the limits of one host. Throws a `HttpFailure`. Returns an answer of 500 and above after
 * the last retry.
 */
export type Throttle = (
  work: () => Promise<WireAnswer>,
  retryBounds: RetryBounds,
  signal?: AbortSignal,
) => Promise<WireAnswer>;

export type ThrottleOptions = {
  readonly host: string;
  readonly clock: Clock;
  /** At least 0, below 1. */
  readonly random: () => number;
  readonly maxInFlight: number;
};

/**
 * Limits the requests in flight to a host, and shares its rate limit among all callers. A 429 pauses the host, and so
 * does a 503 with a time, which is an outage. If the host reports its remaining requests, their number also limits the requests in flight. After a
 * request without an answer, other callers fail at once for a while.
 */
export function createThrottle({ host, clock, random, maxInFlight }: ThrottleOptions): Throttle {
  const slots = createSlots(maxInFlight, (waiting) => {
    if (waiting >= maxWaiting)
      throw paused({ code: 'rate-limited', why: 'too many requests wait for it already' }, 1000);
  });
  const pauses = createRequestedPauses(clock, usualRetries.budgetMs);
  let silence: { readonly untilMs: number; readonly failure: HttpFailure } | undefined;
  let answeredAtMs = -Infinity;
  let reported = { remaining: Infinity, atMs: -Infinity };

  return async function run(work, retryBounds, signal) {
    const retries = { ...retryBounds, beganAtMs: clock.monotonicMs() };
    for (;;) {
      if (pauses.leftMs() > 0) await waitForPause(retries, signal);
      const outcome = await slots.use(() => attempt(work, retries), signal);
      if (outcome.kind === 'answer') return outcome.answer;
      if (outcome.afterMs > 0) await clock.sleep(outcome.afterMs, signal);
    }
  };

  async function waitForPause(retries: RemainingRetries, signal: AbortSignal | undefined): Promise<void> {
    for (let pauseMs = pauses.leftMs(); pauseMs > 0; pauseMs = pauses.leftMs()) {
      if (pauseMs > retries.budgetMs || pauses.areTooMany()) throw paused(pauses.reason(), pauseMs);
      retries.budgetMs -= pauseMs;
      // Random, so that callers do not continue at the same moment.
      await clock.sleep(pauseMs + random() * Math.min(pauseMs / 4, maxSpreadMs), signal);
    }
  }

  async function attempt(work: () => Promise<WireAnswer>, retries: RemainingRetries): Promise<Outcome> {
    if (pauses.leftMs() > 0) return { kind: 'again', afterMs: 0 };
    if (silence !== undefined && clock.monotonicMs() < silence.untilMs) throw silence.failure;
    const sentAtMs = clock.monotonicMs();
    let answer: WireAnswer;
    try {
      answer = await work();
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error;
      if (error.isTransient && retries.faults > 0) return backOff(retries);
      if (answeredAtMs < retries.beganAtMs) rememberSilence(error, retries.beganAtMs);
      throw error;
    }
    answeredAtMs = clock.monotonicMs();
    noteRemaining(answer, sentAtMs);
    return judge(answer, retries);
  }

  /**
   * Ignores a higher number from a request that was sent before the last report. An answer without a number ends an old
   * report, because the host may report none to a new login.
   */
  function noteRemaining(answer: WireAnswer, sentAtMs: number): void {
    const nowMs = clock.monotonicMs();
    const isOld = nowMs - reported.atMs > reportMs;
    const remaining = requestsLeft(answer) ?? (isOld ? Infinity : undefined);
    if (remaining === undefined || (remaining > reported.remaining && sentAtMs < reported.atMs)) return;
    reported = { remaining, atMs: nowMs };
    slots.limit(remaining);
  }

  function judge(answer: WireAnswer, retries: RemainingRetries): Outcome {
    const { status } = answer;
    const requestedMs = status === 429 || status === 503 ? retryAfterMs(answer, clock.nowMs()) : undefined;
    if (status === 429 || requestedMs !== undefined) {
      pauses.begin(requestedMs, reasonOf(answer));
      if (retries.refusals === 0) throw paused(pauses.reason(), pauses.leftMs());
      retries.refusals -= 1;
      return { kind: 'again', afterMs: 0 };
    }
    pauses.answered();
    return faultStatuses.has(status) && retries.faults > 0 ? backOff(retries) : { kind: 'answer', answer };
  }

  function backOff(retries: RemainingRetries): Outcome {
    retries.faults -= 1;
    return { kind: 'again', afterMs: (backOffMs / 2 ** retries.faults) * (0.5 + random()) };
  }

  /**
   * The failure is cached for as long as its request took, so that many images on a dead host cost one deadline
   * together.
   */
  function rememberSilence(failure: HttpFailure, sinceMs: number): void {
    if (failure.code !== 'unreachable' && failure.code !== 'timeout') return;
    const nowMs = clock.monotonicMs();
    silence = { failure, untilMs: nowMs + Math.min(nowMs - sinceMs, maxUnreachableMs) };
  }

  function paused({ code, why }: PauseReason, forMs: number): HttpFailure {
    const unitMs = forMs < 1000 ? 1 : 1000;
    const waitMs = Math.ceil(Math.max(0, forMs) / unitMs) * unitMs;
    return new HttpFailure(code, `${why}; it may be asked again in ${formatDuration(waitMs)}`, {
      host,
      retryAfterMs: waitMs,
      ...(code === 'rate-limited' && {
        remedy: 'log in to that registry to raise the limit, or check less often',
      }),
    });
  }
}

function reasonOf(answer: WireAnswer): PauseReason {
  const said = errorTextOf(answer);
  const isLimit = answer.status === 429;
  const why = isLimit ? 'it limits requests' : 'it is out of service (status 503)';
  return {
    code: isLimit ? 'rate-limited' : 'unreachable',
    why: said === '' ? why : `${why}: ${said}`,
  };
}

/** Remaining retries and times of one caller. */
type RemainingRetries = { -readonly [Field in keyof RetryBounds]: RetryBounds[Field] } & { readonly beganAtMs: number };

type Outcome =
  | { readonly kind: 'answer'; readonly answer: WireAnswer }
  | { readonly kind: 'again'; readonly afterMs: number };

/** Statuses of a proxy or registry in trouble; other statuses from 500 up are answers about the request. */
const faultStatuses: ReadonlySet<number> = new Set([500, 502, 503, 504]);

/** The time for which a number of remaining requests also counts for answers without one. */
const reportMs = 60_000;

/** Requests in the queue of one host: more than a check of all images of a machine. */
const maxWaiting = 10_000;

/** Back-off before the last retry; each earlier one waits half as long. */
const backOffMs = 500;

const maxSpreadMs = 1000;

const maxUnreachableMs = 60_000;

/** A rate limit (429), or an outage whose end the host names (503). */
type PauseReason = { readonly code: 'rate-limited' | 'unreachable'; readonly why: string };

/** Pauses that a host requests with its 429 and 503 answers. */
type RequestedPauses = {
  /** Remaining time; 0 or less: requests are allowed. */
  readonly leftMs: () => number;
  /** Of the last pause. */
  readonly reason: () => PauseReason;
  /** `requestedMs` is undefined if the host named no time. */
  readonly begin: (requestedMs: number | undefined, reason: PauseReason) => void;
  /** Call it after an answer. It ends the row of pauses. */
  readonly answered: () => void;
  /** True if the host has paused requests for so long that a new request fails at once. */
  readonly areTooMany: () => boolean;
};

/**
 * Requests that are refused during a pause extend it and do not start a new one. Pauses of up to `bearableMs` are
 * summed for `areTooMany`.
 */
function createRequestedPauses(clock: Clock, bearableMs: number): RequestedPauses {
  let pause = noPause;
  let paused = { ms: 0, untilMs: -Infinity };

  return {
    leftMs,
    reason: () => pause.reason,
    begin(requestedMs, reason) {
      const nowMs = clock.monotonicMs();
      const inRow = leftMs() > 0 ? pause.inRow : pause.inRow + 1;
      const defaultMs = Math.min(defaultPauseMs * 2 ** (inRow - 1), maxDefaultPauseMs);
      const waitMs = Math.max(requestedMs ?? defaultMs, shortestPauseMs);
      const untilMs = Math.max(pause.untilMs, nowMs + waitMs);
      const addedMs = waitMs > bearableMs ? 0 : untilMs - Math.max(pause.untilMs, nowMs);
      const isReset = nowMs - paused.untilMs > resetAfterMs;
      paused = { ms: (isReset ? 0 : paused.ms) + addedMs, untilMs };
      pause = { untilMs, inRow, reason };
    },
    answered() {
      if (leftMs() <= 0) pause = noPause;
    },
    areTooMany: () => paused.ms > maxPausedMs,
  };

  function leftMs(): number {
    return pause.untilMs - clock.monotonicMs();
  }
}

const noPause = {
  untilMs: -Infinity,
  inRow: 0,
  reason: { code: 'rate-limited', why: '' } satisfies PauseReason as PauseReason,
};

/** ghcr.io asks for pauses of microseconds. */
const shortestPauseMs = 50;

/** The pause for a 429 without a time. Doubled for each pause in a row. */
const defaultPauseMs = 1000;
const maxDefaultPauseMs = 60_000;

/** One caller has its own limit, but many callers in a row could wait longer. */
const maxPausedMs = 120_000;
const resetAfterMs = 60_000;

/**
 * The pause that an answer requests, in milliseconds; undefined without one. From `Retry-After`, else from the body,
 * where ghcr.io writes `retry-after: 1.16676ms, allowed: 44000/minute`.
 */
export function retryAfterMs(answer: Pick<WireAnswer, 'headers' | 'body'>, nowMs: number): number | undefined {
  const asked = readRetryAfter(answer.headers['retry-after'], nowMs);
  if (asked !== undefined) return bounded(asked);
  const [, text = ''] = /retry[- ]after:? *([\d.]+[a-zµμ]*)/i.exec(rawErrorTextOf(answer)) ?? [];
  const duration = parseDuration(text, { bareUnit: 's' });
  return duration === undefined ? undefined : bounded(duration);
}

/** The longest pause that an answer can cause. */
const maxMs = 3_600_000;

function bounded(ms: number): number {
  return Math.min(Math.max(0, ms), maxMs);
}

/**
 * The number of remaining requests that an answer reports; undefined without one. Docker Hub writes
 * `ratelimit-remaining: 76;w=21600` (https://docs.docker.com/docker-hub/usage/pulls/).
 */
export function requestsLeft({ headers }: Pick<WireAnswer, 'headers'>): number | undefined {
  const field = headers['ratelimit-remaining'] ?? headers['x-ratelimit-remaining'];
  const [, digits] = /^(\d{1,9})(?:;|$)/.exec(typeof field === 'string' ? field.trim() : '') ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** Runs `work` for a key, or joins its current run. */
type SingleFlight<Value> = (
  key: string,
  work: (signal: AbortSignal) => Promise<Value>,
  signal?: AbortSignal,
) => Promise<Value>;

/** The work continues while a caller waits for it. Its signal aborts when the last caller has aborted. */
export function createSingleFlight<Value>(): SingleFlight<Value> {
  const flights = new Map<string, Flight<Value>>();

  return async function join(key, work, signal) {
    signal?.throwIfAborted();
    // The many listeners are not a leak: a check of many images shares one signal.
    if (signal !== undefined) setMaxListeners(0, signal);
    const flight = flights.get(key) ?? start(key, work);
    flight.waiting += 1;
    try {
      return await orAborted(flight.result, signal);
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0 && signal?.aborted === true) abandon(key, flight, abortReasonOf(signal));
    }
  };

  function start(key: string, work: (signal: AbortSignal) => Promise<Value>): Flight<Value> {
    const controller = new AbortController();
    const flight: Flight<Value> = { controller, result: work(controller.signal), waiting: 0 };
    flights.set(key, flight);
    const end = (): void => forget(key, flight);
    flight.result.then(end, end);
    return flight;
  }

  function abandon(key: string, flight: Flight<Value>, reason: Error): void {
    forget(key, flight);
    flight.controller.abort(reason);
  }

  function forget(key: string, flight: Flight<Value>): void {
    if (flights.get(key) === flight) flights.delete(key);
  }
}

type Flight<Value> = { readonly controller: AbortController; readonly result: Promise<Value>; waiting: number };

/**
 * Caches the answer of `ask` for `ttlMs`. After a failure, the value of `instead` counts for 5 seconds, so that many
 * callers cause one request and one warning. Without `instead`, failures are thrown and not cached.
 */
export function cachedFor<Value>(
  clock: Clock,
  ttlMs: number,
  ask: (signal: AbortSignal) => Promise<Value>,
  instead?: (error: unknown) => Value,
): (signal?: AbortSignal) => Promise<Value> {
  const flight = createSingleFlight<Value>();
  let answer: { readonly value: Value; readonly untilMs: number } | undefined;

  return async function recall(signal) {
    if (answer !== undefined && clock.monotonicMs() < answer.untilMs) return answer.value;
    return flight('', request, signal);
  };

  async function request(signal: AbortSignal): Promise<Value> {
    try {
      return keep(await ask(signal), ttlMs);
    } catch (error) {
      if (instead === undefined || signal.aborted) throw error;
      return keep(instead(error), failureTtlMs);
    }
  }

  function keep(value: Value, forMs: number): Value {
    answer = { value, untilMs: clock.monotonicMs() + forMs };
    return value;
  }
}

const failureTtlMs = 5000;
