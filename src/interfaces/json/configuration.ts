import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';

/** The effective settings, and every option with the source of its value. */
export type Configuration = {
  readonly config: Pick<
    ServiceSettings,
    | 'monitorOnly'
    | 'cleanup'
    | 'noPull'
    | 'noRestart'
    | 'rollingRestart'
    | 'includeStopped'
    | 'includeRestarting'
    | 'lifecycleHooks'
    | 'labelEnable'
  > & {
    /** The selection of watched containers, as a sentence. */
    readonly filterDescription: string;
    /** Empty: none. */
    readonly scope: string;
  };
  /** Secrets are already redacted. */
  readonly options: readonly ConfiguredOption[];
};

export type ConfiguredOption = {
  /** The flag's name, or the variable's without a flag. */
  readonly name: string;
  /** Empty: none. A secret is shown as `***`. */
  readonly value: string;
  /** The flag or variable of the value, or `default`. */
  readonly source: string;
  /** Whether a user has set it. */
  readonly given: boolean;
  /** A sentence without a final period. */
  readonly meaning: string;
};

export function configurationEntry({ config, options }: Configuration) {
  return {
    config: {
      monitor_only: config.monitorOnly,
      cleanup: config.cleanup,
      no_pull: config.noPull,
      no_restart: config.noRestart,
      rolling_restart: config.rollingRestart,
      include_stopped: config.includeStopped,
      include_restarting: config.includeRestarting,
      lifecycle_hooks: config.lifecycleHooks,
      label_enable: config.labelEnable,
      filter_desc: config.filterDescription,
      scope: config.scope,
    },
    options,
  };
}
