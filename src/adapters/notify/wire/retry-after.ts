import type { HttpAnswer } from './exchange.ts';
import { fieldOf, jsonOf } from './words.ts';

/**
 * The pause that an answer asks for, in milliseconds: from `Retry-After` in seconds, with a fraction from Discord, else
 * from Telegram's `parameters.retry_after` (s), Matrix's `retry_after_ms` or Discord's `retry_after` (s). A date is not
 * read, because none of the services sends one.
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

/** The longest pause that an answer can cause. One request is tried after it. */
const longestMs = 3_600_000;

function seconds(value: unknown): number | undefined {
  return typeof value === 'number' ? value * 1000 : undefined;
}
