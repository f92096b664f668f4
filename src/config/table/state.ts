import { decisionCommands } from '../declaration/commands.ts';
import { optionTable } from '../../domain/settings/table/option.ts';
import type { OptionParts } from '../declaration/option.ts';

const commands = ['run', 'update', 'rollback', 'recover'] as const;

/** Options of stored state and of trust in journals. */
export const stateOptions = optionTable({ group: 'state', commands }, {
  stateDir: {
    kind: 'text',
    flag: 'state-dir',
    placeholder: 'FOLDER',
    meaning:
      'Folder for persistent files: decisions, history, the key of --journal-key-file, notifications that are not sent yet',
    example: '/data',
    isCommon: true,
    commands: [
      ...commands,
      'check',
      'notify',
      'token',
      'password',
      'containers',
      'history',
      'events',
      ...decisionCommands,
    ],
  },
  journalKeyFile: {
    kind: 'text',
    flag: 'journal-key-file',
    placeholder: 'FILE',
    defaultMeaning: 'journal.key in --state-dir, created on first use',
    meaning:
      'Key that seals the journals of updates. An interrupted update is repaired only if it was begun with the same key',
    example: '/run/secrets/journal-key',
  },
  unsealed: {
    kind: 'list',
    flag: 'unsealed',
    env: [],
    separators: 'comma or space',
    placeholder: 'NAME',
    meaning: 'Repair the interrupted update of this container even without a seal',
    example: 'web',
    isCommon: true,
    commands: ['recover'],
  },
} as const satisfies OptionParts);
