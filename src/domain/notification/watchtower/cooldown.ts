import type { ContainerOutcome } from '../../run/session.ts';
import { formatDuration } from '../../text/duration.ts';
import { Moment, zeroUnixMs } from '../template/time/moment.ts';
import { isCooling } from './category.ts';

/** The time of a run, and the zone in which its times are shown. */
export type RunTime = { readonly startedAtMs: number; readonly timeZone: string };

/** The fields of a container in a template. Without a cooldown they are empty, and the time is Go's zero time. */
export function cooldownFields(container: ContainerOutcome, { startedAtMs, timeZone }: RunTime) {
  const { cooldown } = container;
  const eligibleAtMs = cooldown && startedAtMs + cooldown.delayMs - cooldown.ageMs;
  return {
    CooldownAge: cooldown === undefined ? '' : sayAge(cooldown.ageMs),
    CooldownDelay: cooldown === undefined ? '' : formatDuration(cooldown.delayMs),
    CooldownRemaining: cooldown === undefined || !isCooling(container) ? '' : sayAge(cooldown.delayMs - cooldown.ageMs),
    CooldownPassed: cooldown !== undefined && !isCooling(container),
    CooldownEligibleAt: eligibleAtMs === undefined ? new Moment(zeroUnixMs, 'UTC') : new Moment(eligibleAtMs, timeZone),
  };
}

/** In minutes, or in seconds below one minute. */
function sayAge(ms: number): string {
  const unit = ms < 60_000 ? 1000 : 60_000;
  return formatDuration(Math.floor(ms / unit) * unit);
}
