import type { HttpAnswer } from './exchange.ts';
import { fieldOf, jsonOf } from './words.ts';

/**
 * How long an answer asks us to stay away, in milliseconds: from `Retry-After` in seconds, which Discord gives with a
 * fraction, else Telegram's `parameters.retry_after` (s), Matrix's `retry_after_ms`, Discord's `retry_after` (s).
 * A date is not read: none of the services gives one.
 */
export function retryAfterMs(answer: HttpAnswer): number | undefined {
  const json = jsonOf(answer);
  const told = [
    seconds(Number.parseFloat(answer.headers['retry-after'] ?? '')),
    seconds(fieldOf(fieldOf(json, 'parameters'), 'retry_after')),
    fieldOf(json, 'retry_after_ms'),
    seconds(fieldOf(json, 'retry_after')),
  ];
  const ms = told.find((value) => typeof value === 'number' && Number.isFinite(value) && value >= 0);
  return ms === undefined ? undefined : Math.min(Math.ceil(Number(ms)), longestMs);
}

/** Nobody holds a message back for longer than this; then one request asks again. */
const longestMs = 3_600_000;

function seconds(value: unknown): number | undefined {
  return typeof value === 'number' ? value * 1000 : undefined;
}
