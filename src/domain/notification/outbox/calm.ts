import type { MessageLevel } from '../message.ts';
import type { Hold } from './record.ts';
import type { NotificationSettings, QuietHours } from '../settings.ts';

/** When a message may go out; `hold`: as one with all others that wait for the same time. */
export type Release = { readonly dueAtMs: number; readonly hold?: Hold };

/**
 * Failures wait for nobody. Everything else waits for the digest where there is one, or else for the delay, and for the
 * end of quiet hours.
 */
export function releaseOf(
  level: MessageLevel,
  nowMs: number,
  { digest, quietHours, delayMs }: Pick<NotificationSettings, 'digest' | 'quietHours' | 'delayMs'>,
): Release {
  const release = { dueAtMs: nowMs + delayMs };
  if (level === 'error') return release;
  const digestAtMs = digest?.(nowMs);
  const quietUntilMs = quietHours && endOfQuiet(digestAtMs ?? nowMs, quietHours);
  if (digestAtMs !== undefined) return { dueAtMs: quietUntilMs ?? digestAtMs, hold: 'digest' };
  return quietUntilMs === undefined ? release : { dueAtMs: quietUntilMs, hold: 'quiet' };
}

/**
 * They have begun and not ended when their end comes before their next beginning, at midnight as at any other time.
 * Where the clock skips both, they fall on one moment, and it is now as it is after that.
 */
function endOfQuiet(nowMs: number, { from, until }: QuietHours): number | undefined {
  const [begin, end] = [from(nowMs), until(nowMs)];
  if (begin === undefined || end === undefined) return undefined;
  const isQuiet = end === begin ? isBefore(until(end), from(end)) : end < begin;
  return isQuiet ? end : undefined;
}

function isBefore(a: number | undefined, b: number | undefined): boolean {
  return a !== undefined && b !== undefined && a < b;
}
