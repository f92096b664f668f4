import { parseDuration } from '../../../domain/text/duration.ts';
import { rawErrorTextOf } from '../transport/answer.ts';
import type { WireAnswer } from '../../http/exchange.ts';

/**
 * The pause that an answer requests, in milliseconds; undefined without one. From `Retry-After` in seconds or as a date
 * (https://www.rfc-editor.org/rfc/rfc9110.html#section-10.2.3), else from the body, where ghcr.io writes `retry-after:
 * 1.16676ms, allowed: 44000/minute`.
 */
export function retryAfterMs(answer: Pick<WireAnswer, 'headers' | 'body'>, nowMs: number): number | undefined {
  const header = answer.headers['retry-after']?.trim() ?? '';
  if (/^\d{1,12}$/.test(header)) return bounded(Number(header) * 1000);
  const date = /[a-z]/i.test(header) ? Date.parse(header) : Number.NaN;
  if (!Number.isNaN(date)) return bounded(date - nowMs);
  const [, text = ''] = /retry[- ]after:? *([\d.]+[a-zµμ]*)/i.exec(rawErrorTextOf(answer)) ?? [];
  const duration = parseDuration(text, { bareUnit: 's' });
  return duration === undefined ? undefined : bounded(duration);
}

/** The longest pause that an answer can cause. */
const longestMs = 3_600_000;

function bounded(ms: number): number {
  return Math.min(Math.max(0, ms), longestMs);
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
