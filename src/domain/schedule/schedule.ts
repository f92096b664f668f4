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

/** Without a schedule, updates run at the start if at all. */
export type UpdateSchedule = {
  readonly schedule: Schedule | undefined;
  readonly updateOnStart: boolean;
  /** Why there is no schedule, in words. */
  readonly whyNone?: string;
};
