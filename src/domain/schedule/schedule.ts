/**
 * When the service updates by itself. An interval is counted in time that passes, whatever people do
 * to the clock on the wall; a calendar is about that clock.
 */
export type Schedule = {
  /** For people: `every 6h`, `every day at 04:00 (Europe/Berlin)`. */ readonly words: string;
} & (
  | { readonly kind: 'interval'; readonly everyMs: number }
  | {
      readonly kind: 'calendar';
      /** The first slot after a time, both milliseconds since the epoch; undefined when there is none any more. */
      readonly nextRunAfter: (ms: number) => number | undefined;
    }
);

/** Without a schedule: at the start, if at all. */
export type KeepUpdating = {
  readonly schedule: Schedule | undefined;
  readonly updateOnStart: boolean;
  /** Why there is no schedule, in words. */
  readonly whyNone?: string;
};
