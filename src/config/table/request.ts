import { tryParseImageReference } from '../../domain/image/image-reference.ts';
import { isEngineName } from '../../domain/engine-address.ts';
import { decisionCommands } from '../declaration/commands.ts';
import { optionTable } from '../../domain/settings/table/option.ts';
import type { OptionParts } from '../declaration/option.ts';

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
    meaning: 'Go forward again without a question, where a rollback would do so',
    isCommon: true,
    commands: ['rollback'],
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
    commands: ['check', 'update', 'rollback', 'recover', 'containers', ...decisionCommands],
  },
  noSelfUpdate: {
    kind: 'boolean',
    flag: 'no-self-update',
    env: ['NO_SELF_UPDATE'],
    meaning:
      "Do not update Upkeep's own container. Always on while the HTTP API is on and the container publishes ports",
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
    meaning: 'Update the named containers also outside of their windows; versions that wait for approval still wait',
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
    meaning:
      'Dry run that also pulls the new images, creates the new containers, compares them with the running ones, and removes them',
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
