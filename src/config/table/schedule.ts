import { commandsWithSettings } from '../declaration/commands.ts';
import { optionTable } from '../../domain/settings/table/option.ts';
import type { OptionParts } from '../declaration/option.ts';
import { zoneNameIn } from '../schedule/local-time-zone.ts';
import { readSchedule } from '../schedule/schedule.ts';

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
    meaning: 'Time between two updates',
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
      'Schedule of updates instead of an interval: five cron fields as in "0 4 * * *", six with seconds first, or @daily and the like. A prefix TZ=Europe/Berlin sets the time zone',
    example: '@daily',
    isCommon: true,
  },
  scheduleJitterMs: {
    kind: 'duration',
    flag: 'schedule-jitter',
    defaultMeaning: '30s, or 0s if --schedule names a second',
    minMs: 0,
    maxMs: 3_600_000,
    meaning:
      'Updates of --schedule begin up to this much later, by a delay that is drawn at the start, so that many services do not ask the registries in the same second',
    example: '5m',
  },
  startCheck: {
    kind: 'boolean',
    flag: 'start-check',
    default: true,
    defaultMeaning: 'true with the API groups containers or dashboard',
    meaning: 'Check at the start, without an update, so that the page and the API show the state of every container',
    example: 'false',
  },
  updateOnStart: { kind: 'boolean', flag: 'update-on-start', meaning: 'Also update at the start' },
  runOnce: {
    kind: 'boolean',
    flag: 'run-once',
    short: 'R',
    meaning:
      'Update once, then exit: with 1 if a container failed or was rolled back, else with 3 if something could not be checked',
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

function isTimeZone(text: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zoneNameIn(text) }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
