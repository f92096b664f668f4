import { formatDuration } from '../../../domain/text/duration.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import { errorTextOf } from '../transport/answer.ts';
import type { WireAnswer } from '../../http/exchange.ts';
import { HttpFailure } from '../../http/failure.ts';
import { createRequestedPauses, type PauseReason } from './pauses.ts';
import { requestsLeft, retryAfterMs } from './rate-limit-headers.ts';
import { createSlots } from '../../../domain/concurrency.ts';

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
  patience: RetryBounds,
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

  return async function run(work, patience, signal) {
    const retries = { ...patience, beganAtMs: clock.monotonicMs() };
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
    silence = { failure, untilMs: nowMs + Math.min(nowMs - sinceMs, longestUnreachableMs) };
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

const longestUnreachableMs = 60_000;
