import type { Option } from '../declaration/option.ts';

/** Options of single commands that update. */
export const singleCommandOptions = {
  noSelfUpdate: {
    group: 'update',
    kind: 'boolean',
    flag: 'no-self-update',
    env: ['NO_SELF_UPDATE'],
    default: false,
    meaning:
      "Do not update Upkeep's own container. This is always so while the HTTP API is on and the container publishes ports",
    example: 'true',
    commands: ['run'],
  },
  finishUpdate: {
    group: 'update',
    kind: 'text',
    env: ['FINISH_UPDATE'],
    internal: true,
    placeholder: 'ID',
    default: undefined,
    defaultMeaning: 'none: for internal use',
    meaning: "Finish this update of Upkeep's own container, then exit. Upkeep sets it for its helper container",
    example: '6f1f3c1e-0d5c-4f5e-9d0e-1a2b3c4d5e6f',
    commands: ['run'],
  },
  retryFailed: {
    group: 'update',
    kind: 'boolean',
    flag: 'retry-failed',
    default: false,
    meaning: 'Also try versions that failed before',
    example: 'true',
    commands: ['update'],
  },
  dryRun: {
    group: 'update',
    kind: 'boolean',
    flag: 'dry-run',
    default: false,
    meaning: 'Print the plan of an update and change nothing',
    example: 'true',
    commands: ['update'],
  },
  verify: {
    group: 'update',
    kind: 'boolean',
    flag: 'verify',
    default: false,
    meaning:
      'Dry run that also pulls the new images, creates the new containers, compares them with the running ones, and removes them',
    example: 'true',
    commands: ['update'],
  },
} as const satisfies Readonly<Record<string, Option>>;
