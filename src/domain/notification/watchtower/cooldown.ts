import type { ContainerOutcome } from '../../run/session.ts';
import { formatDuration } from '../../text/duration.ts';
import { formatMoment } from '../template/time/format.ts';
import { Moment } from '../template/time/moment.ts';
import { type Category, isCooling } from './category.ts';
import type { Entry } from './entry.ts';

export const tooYoung = 'Image is within cooldown period - not eligible for update';
export const oldEnough = 'Image age exceeds cooldown - eligible for update';

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
    CooldownEligibleAt: eligibleAtMs === undefined ? new Moment(zeroTimeMs, 'UTC') : new Moment(eligibleAtMs, timeZone),
  };
}

/** The family's line about the cooldown of a container that was updated, or that waits because of it. */
export function cooldownEntry(container: ContainerOutcome, category: Category, at: RunTime): Entry | undefined {
  const { image, cooldown } = container;
  if (cooldown === undefined || (category !== 'Updated' && category !== 'Failed' && !isCooling(container)))
    return undefined;
  const { CooldownAge, CooldownDelay, CooldownRemaining, CooldownEligibleAt } = cooldownFields(container, at);
  const about = { image, cooldown: CooldownDelay, image_age: CooldownAge };
  const line = { level: 'info', atMs: at.startedAtMs } as const;
  if (!isCooling(container)) return { ...line, message: oldEnough, data: about };
  const eligible_at = formatMoment(CooldownEligibleAt, '2006-01-02T15:04:05Z07:00');
  const data = { ...about, eligible_in: CooldownRemaining, eligible_at };
  return { ...line, message: tooYoung, data };
}

/** 0001-01-01T00:00:00Z: https://pkg.go.dev/time#Time */
const zeroTimeMs = -62_135_596_800_000;

/** In minutes, or in seconds below one minute. */
function sayAge(ms: number): string {
  const unit = ms < 60_000 ? 1000 : 60_000;
  return formatDuration(Math.floor(ms / unit) * unit);
}
