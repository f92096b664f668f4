/** The times of automatic updates. An interval is counted by the monotonic clock; a calendar follows the wall clock. */
export type Schedule = {
  /** For people: `every 6h`, `every day at 04:00 (Europe/Berlin)`. */ readonly words: string;
} & (
  | { readonly kind: 'interval'; readonly everyMs: number }
  | {
      readonly kind: 'calendar';
      /** The first run after a time, both in milliseconds since the epoch. Undefined after the last one. */
      readonly nextRunAfter: (ms: number) => number | undefined;
    }
);

/** The calendar with each run this much later; an interval, which begins at the start of its process, is unchanged. */
export function delayed(schedule: Schedule, delayMs: number): Schedule {
  if (schedule.kind === 'interval' || delayMs === 0) return schedule;
  return {
    ...schedule,
    nextRunAfter: (ms) => {
      const nextMs = schedule.nextRunAfter(ms - delayMs);
      return nextMs === undefined ? undefined : nextMs + delayMs;
    },
  };
}

/** Without a schedule, updates run at the start if at all. */
export type UpdateSchedule = {
  readonly schedule: Schedule | undefined;
  readonly updateOnStart: boolean;
  /** Why there is no schedule, in words. */
  readonly whyNone?: string;
};
