import type { MessageLevel } from '../message.ts';
import type { MessageHold } from './record.ts';
import type { NotificationSettings, QuietHours } from '../notification-settings.ts';

/** When a message may be sent. `hold`: together with all others that wait for the same time. */
export type ReleaseTime = { readonly dueAtMs: number; readonly hold?: MessageHold };

/**
 * Failures are sent at once. Other messages wait for the digest if there is one, else for the delay, and for the end of
 * quiet hours.
 */
export function releaseTimeOf(
  level: MessageLevel,
  nowMs: number,
  { digest, quietHours, delayMs }: Pick<NotificationSettings, 'digest' | 'quietHours' | 'delayMs'>,
): ReleaseTime {
  const release = { dueAtMs: nowMs + delayMs };
  if (level === 'error') return release;
  const digestAtMs = digest?.(nowMs);
  const quietUntilMs = quietHours && endOfQuiet(digestAtMs ?? nowMs, quietHours);
  if (digestAtMs !== undefined) return { dueAtMs: quietUntilMs ?? digestAtMs, hold: 'digest' };
  return quietUntilMs === undefined ? release : { dueAtMs: quietUntilMs, hold: 'quiet' };
}

/**
 * Quiet hours are active when their end comes before their next beginning, also across midnight. If a clock change
 * skips both, they fall on one moment, and the state after it counts.
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
