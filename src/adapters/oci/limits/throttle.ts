import { formatDuration } from '../../../domain/text/duration.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import { errorTextOf } from '../transport/answer.ts';
import type { WireAnswer } from '../transport/exchange.ts';
import { RegistryFailure } from '../transport/failure.ts';
import { createRateLimitPauses } from './pauses.ts';
import { requestsLeft, retryAfterMs } from './rate-limit-headers.ts';
import { createSlots } from '../async/slots.ts';

/** Bounds of waiting and retrying before the caller gets an error. */
export type RetryBounds = {
  /** Number of retries after a broken connection or an answer of 500 and above. */
  readonly faults: number;
  /** Number of retries after a pause that the host asked for. */
  readonly refusals: number;
  /** Total time of such pauses. */
  readonly budgetMs: number;
};

export const usualRetries: RetryBounds = { faults: 2, refusals: 3, budgetMs: 30_000 };

/** For a request with an alternative. */
export const noRetries: RetryBounds = { faults: 0, refusals: 0, budgetMs: 0 };

/**
 * Sends a request within the limits of one host. Throws a `RegistryFailure`. Returns an answer of 500 and above that
 * does not change.
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
 * Limits the requests in flight to a host, and shares its rate limit among all callers. A 429, or a 503 with a time,
 * pauses the host. If the host reports its remaining requests, no more are in flight than that. After a timeout the
 * other callers wait a shorter time.
 */
export function createThrottle({ host, clock, random, maxInFlight }: ThrottleOptions): Throttle {
  const slots = createSlots(maxInFlight, maxWaiting, () => sentAway('too many requests wait for it already', 1000));
  const pauses = createRateLimitPauses(clock, usualRetries.budgetMs);
  let silence: { readonly untilMs: number; readonly failure: RegistryFailure } | undefined;
  let answeredAtMs = -Infinity;
  let told = { left: Infinity, atMs: -Infinity };

  return async function run(work, patience, signal) {
    const left = { ...patience, beganAtMs: clock.monotonicMs() };
    for (;;) {
      if (pauses.leftMs() > 0) await stayAway(left, signal);
      const outcome = await slots.use(() => attempt(work, left), signal);
      if (outcome.kind === 'answer') return outcome.answer;
      if (outcome.afterMs > 0) await clock.sleep(outcome.afterMs, signal);
    }
  };

  async function stayAway(left: RemainingRetries, signal: AbortSignal | undefined): Promise<void> {
    for (let awayMs = pauses.leftMs(); awayMs > 0; awayMs = pauses.leftMs()) {
      if (awayMs > left.budgetMs || pauses.areTooMany()) throw sentAway(pauses.why(), awayMs);
      left.budgetMs -= awayMs;
      // Random, so that callers do not resume at the same moment.
      await clock.sleep(awayMs + random() * Math.min(awayMs / 4, maxSpreadMs), signal);
    }
  }

  async function attempt(work: () => Promise<WireAnswer>, left: RemainingRetries): Promise<Outcome> {
    if (pauses.leftMs() > 0) return { kind: 'again', afterMs: 0 };
    if (silence !== undefined && clock.monotonicMs() < silence.untilMs) throw silence.failure;
    const sentAtMs = clock.monotonicMs();
    let answer: WireAnswer;
    try {
      answer = await work();
    } catch (error) {
      if (!(error instanceof RegistryFailure)) throw error;
      if (error.isTransient && left.faults > 0) return backOff(left);
      if (answeredAtMs < left.beganAtMs) rememberSilence(error, left.beganAtMs);
      throw error;
    }
    answeredAtMs = clock.monotonicMs();
    hear(answer, sentAtMs);
    return judge(answer, left);
  }

  /** An answer to an earlier request than the last reported number is ignored if it reports more remaining requests. */
  function hear(answer: WireAnswer, sentAtMs: number): void {
    const left = requestsLeft(answer);
    if (left === undefined || (left > told.left && sentAtMs < told.atMs)) return;
    told = { left, atMs: clock.monotonicMs() };
    slots.limit(left);
  }

  function judge(answer: WireAnswer, left: RemainingRetries): Outcome {
    const { status } = answer;
    const askedMs = status === 429 || status === 503 ? retryAfterMs(answer, clock.nowMs()) : undefined;
    if (status === 429 || askedMs !== undefined) {
      pauses.begin(askedMs, errorTextOf(answer));
      if (left.refusals === 0) throw sentAway(pauses.why(), pauses.leftMs());
      left.refusals -= 1;
      return { kind: 'again', afterMs: 0 };
    }
    pauses.answered();
    return faultStatuses.has(status) && left.faults > 0 ? backOff(left) : { kind: 'answer', answer };
  }

  function backOff(left: RemainingRetries): Outcome {
    left.faults -= 1;
    return { kind: 'again', afterMs: (backOffMs / 2 ** left.faults) * (0.5 + random()) };
  }

  /**
   * The silence is remembered for as long as it took to find out, so that many images on a dead host cost one deadline
   * together.
   */
  function rememberSilence(failure: RegistryFailure, sinceMs: number): void {
    if (failure.code !== 'registry-unreachable' && failure.code !== 'timeout') return;
    const nowMs = clock.monotonicMs();
    silence = { failure, untilMs: nowMs + Math.min(nowMs - sinceMs, longestUnreachableMs) };
  }

  function sentAway(why: string, forMs: number): RegistryFailure {
    const unitMs = forMs < 1000 ? 1 : 1000;
    const waitMs = Math.ceil(Math.max(0, forMs) / unitMs) * unitMs;
    return new RegistryFailure('registry-rate-limited', `${why}; it may be asked again in ${formatDuration(waitMs)}`, {
      host,
      retryAfterMs: waitMs,
      remedy: 'log in to that registry to raise the limit, or check less often',
    });
  }
}

/** Remaining retries and times of one caller. */
type RemainingRetries = { -readonly [Field in keyof RetryBounds]: RetryBounds[Field] } & { readonly beganAtMs: number };

type Outcome =
  | { readonly kind: 'answer'; readonly answer: WireAnswer }
  | { readonly kind: 'again'; readonly afterMs: number };

/** Statuses of a proxy or registry in trouble; other statuses from 500 up are answers about the request. */
const faultStatuses: ReadonlySet<number> = new Set([500, 502, 503, 504]);

/** Requests in the queue of one host: more than a check of all images of a machine. */
const maxWaiting = 10_000;

/** Back-off before the last retry; each earlier one waits half as long. */
const backOffMs = 500;

const maxSpreadMs = 1000;

const longestUnreachableMs = 60_000;
