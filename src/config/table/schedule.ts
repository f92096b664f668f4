import { commandsWithSettings, decisionCommands } from './commands.ts';
import { optionTable } from '../../domain/settings/table/option.ts';
import type { OptionParts } from './option.ts';
import { zoneNameIn, readSchedule } from './times.ts';
import { tryParseImageReference } from '../../domain/image/image-reference.ts';
import { isEngineName } from '../../domain/engine-address.ts';

/** Options of the times of checks and updates. */
export const whenOptions = optionTable({ group: 'when', commands: ['run'] }, {
  intervalMs: {
    kind: 'duration',
    flag: 'interval',
    short: 'i',
    env: ['INTERVAL', 'POLL_INTERVAL'],
    default: 86_400_000,
    minMs: 1000,
    maxMs: 365 * 86_400_000,
    meaning: 'Time between two updates; not together with --schedule',
    example: '6h',
    isCommon: true,
  },
  schedule: {
    kind: 'text',
    flag: 'schedule',
    short: 's',
    placeholder: 'CRON',
    defaultMeaning: 'none: every --interval',
    accepts: {
      test: (text) => readSchedule(text, 'UTC') !== undefined,
      expected:
        'a schedule with at least one run: "0 4 * * *", "30 0 4 * * *" (seconds first), "@daily" or "@every 6h"',
    },
    meaning:
      'Schedule of updates: five cron fields as in "0 4 * * *", six with seconds first, or @daily and the like; TZ=Europe/Berlin before them sets a time zone',
    example: '@daily',
    isCommon: true,
  },
  scheduleJitterMs: {
    kind: 'duration',
    flag: 'schedule-jitter',
    defaultMeaning: '30s, or 0s if --schedule names a second',
    minMs: 0,
    maxMs: 3_600_000,
    meaning: 'Longest random delay of --schedule',
    example: '5m',
  },
  startCheck: {
    kind: 'boolean',
    flag: 'start-check',
    default: true,
    meaning:
      'Check at the start, without an update; only with the API groups containers or dashboard, or with Home Assistant',
    example: 'false',
  },
  updateOnStart: { kind: 'boolean', flag: 'update-on-start', meaning: 'Also update at the start' },
  runOnce: {
    kind: 'boolean',
    flag: 'run-once',
    short: 'R',
    meaning: 'Update once, then exit',
    isCommon: true,
  },
  timeZone: {
    kind: 'text',
    flag: 'timezone',
    env: [],
    plainEnv: ['TZ'],
    placeholder: 'ZONE',
    defaultMeaning: "the system's",
    accepts: { test: isTimeZone, expected: 'a time zone such as Europe/Berlin or UTC' },
    meaning: 'Time zone of --schedule, --window, and the times in messages and pretty logs',
    example: 'Europe/Berlin',
    commands: commandsWithSettings,
  },
  rounds: {
    kind: 'integer',
    flag: 'rounds',
    env: [],
    placeholder: 'N',
    defaultMeaning: 'until Ctrl-C',
    min: 1,
    max: 1_000_000,
    meaning: 'Number of rounds of releases before the demo ends',
    example: '3',
    isCommon: true,
    commands: ['demo'],
  },
} as const satisfies OptionParts);

/** The first format of a process loads the tables of all zones, which takes 20 ms. */
function isTimeZone(text: string): boolean {
  const name = zoneNameIn(text);
  if (/^(?:Etc\/)?(?:UTC|GMT)$/.test(name ?? '')) return true;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** Options of single commands: the selected containers, and the action on them. */
export const requestOptions = optionTable({ group: 'update', env: [] }, {
  images: {
    group: 'selection',
    kind: 'list',
    separators: 'comma or space',
    flag: 'image',
    placeholder: 'IMAGE,…',
    needsItem: true,
    accepts: {
      test: (text) => tryParseImageReference(text) !== undefined,
      expected: 'image references such as nginx or ghcr.io/acme/api:2',
    },
    meaning: 'Select only containers of these images; without a tag, any tag',
    example: 'nginx,ghcr.io/acme/api:2',
    isCommon: true,
    commands: ['check', 'update'],
  },
  yes: {
    kind: 'boolean',
    flag: 'yes',
    meaning: 'Also go to a version that failed here, or that you went back from',
    isCommon: true,
    commands: ['rollback'],
  },
  keepNew: {
    kind: 'boolean',
    flag: 'keep-new',
    env: [],
    meaning: 'Keep the new version of the named containers, whose data cannot be put back',
    isCommon: true,
    commands: ['recover'],
  },
  withoutData: {
    kind: 'boolean',
    flag: 'without-data',
    env: [],
    meaning: 'Start the old version of the named containers on the data as they are',
    isCommon: true,
    commands: ['recover'],
  },
  engines: {
    group: 'selection',
    kind: 'list',
    separators: 'comma or space',
    flag: 'engine',
    placeholder: 'NAME,…',
    needsItem: true,
    accepts: { test: isEngineName, expected: 'names of engines, as --host gives them' },
    meaning: 'Use only these of several engines',
    example: 'nas,web-1',
    commands: ['check', 'update', 'rollback', 'recover', 'data', 'containers', ...decisionCommands],
  },
  noSelfUpdate: {
    kind: 'boolean',
    flag: 'no-self-update',
    env: ['NO_SELF_UPDATE'],
    meaning: "Do not update Upkeep's own container. Always on with the HTTP API and a published port",
    commands: ['run'],
  },
  finishUpdate: {
    kind: 'text',
    env: ['FINISH_UPDATE'],
    internal: true,
    placeholder: 'ID',
    defaultMeaning: 'none: for internal use',
    meaning: 'Finish this update, then exit. Upkeep sets it for its helper container',
    example: '6f1f3c1e-0d5c-4f5e-9d0e-1a2b3c4d5e6f',
    commands: ['run'],
  },
  retryFailed: {
    kind: 'boolean',
    flag: 'retry-failed',
    meaning: 'Also try versions that failed before',
    isCommon: true,
    commands: ['update'],
  },
  now: {
    kind: 'boolean',
    flag: 'now',
    meaning: 'Update the named containers outside of their windows too; approvals still count',
    commands: ['update'],
  },
  dryRun: {
    kind: 'boolean',
    flag: 'dry-run',
    meaning: 'Print the plan of an update and change nothing',
    isCommon: true,
    commands: ['update'],
  },
  verify: {
    kind: 'boolean',
    flag: 'verify',
    meaning: 'Dry run that also pulls, creates the new containers, compares and removes them',
    isCommon: true,
    commands: ['update'],
  },
  decideForMs: {
    kind: 'duration',
    flag: 'for',
    defaultMeaning: 'until there is another version; 7d for a snooze',
    minMs: 60_000,
    maxMs: 366 * 86_400_000,
    months: true,
    meaning: 'How long the decision lasts',
    example: '7d',
    isCommon: true,
    commands: ['approve', 'skip', 'snooze'],
  },
} as const satisfies OptionParts);
