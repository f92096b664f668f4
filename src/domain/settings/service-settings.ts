import { serviceOptionEntries, type ServiceOptionValues } from './table/service-options.ts';

/** The user's settings after flags, environment and defaults. They are the same for every run of the process. */
export type ServiceSettings = ServiceOptionValues & {
  /** Names or whole-name regular expressions; empty: every container. */
  readonly names: readonly string[];
  readonly selfUpdate: SelfUpdate;
  /** The time zone of windows, such as `Europe/Berlin`. */
  readonly timeZone: string;
};

/**
 * Whether Upkeep replaces the container that it runs in. `unless-published`: the HTTP API is on, so only if the
 * container publishes no ports. `not-main-process`: a successor would not start Upkeep.
 */
export type SelfUpdate = 'on' | 'unless-published' | 'off' | 'not-by-this-command' | 'not-main-process';

export const defaultSettings: ServiceSettings = {
  // Each key of the table has its own default.
  ...(Object.fromEntries(serviceOptionEntries.map(([key, rule]) => [key, rule.default])) as ServiceOptionValues),
  names: [],
  selfUpdate: 'on',
  timeZone: 'UTC',
};
