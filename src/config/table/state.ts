import { deciding } from '../declaration/commands.ts';
import type { Option } from '../declaration/option.ts';

const commands = ['run', 'update', 'rollback', 'recover'] as const;

/** Options of stored state and of trust in journals. */
export const stateOptions = {
  stateDir: {
    group: 'state',
    kind: 'text',
    flag: 'state-dir',
    env: ['STATE_DIR'],
    placeholder: 'FOLDER',
    default: undefined,
    defaultMeaning: 'none',
    meaning:
      'Folder for persistent files: decisions, history, the key of --journal-key-file, notifications that are not sent yet',
    example: '/data',
    isCommon: true,
    commands: [...commands, 'check', 'notify', ...deciding],
  },
  journalKeyFile: {
    group: 'state',
    kind: 'text',
    flag: 'journal-key-file',
    env: ['JOURNAL_KEY_FILE'],
    placeholder: 'FILE',
    default: undefined,
    defaultMeaning: 'journal.key in --state-dir, created on first use',
    meaning:
      'Key that seals the journals of updates. An interrupted update is repaired only if it was begun with the same key',
    example: '/run/secrets/journal-key',
    commands,
  },
  unsealed: {
    group: 'state',
    kind: 'list',
    flag: 'unsealed',
    separators: 'comma or space',
    placeholder: 'NAME',
    default: [],
    meaning: 'Repair the interrupted update of this container even without a seal',
    example: 'web',
    isCommon: true,
    commands: ['recover'],
  },
} as const satisfies Readonly<Record<string, Option>>;
