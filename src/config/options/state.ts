import type { Option } from '../option.ts';

const commands = ['run', 'update', 'rollback', 'recover'] as const;

/** Options of the state outside the engine, and of its trust. */
export const stateOptions = {
  stateDir: {
    group: 'state',
    kind: 'text',
    flag: 'state-dir',
    env: ['STATE_DIR'],
    placeholder: 'FOLDER',
    default: undefined,
    defaultMeaning: 'none',
    meaning: 'Folder that outlives this process; the key of --journal-key-file is made there',
    example: '/data',
    commands,
  },
  journalKeyFile: {
    group: 'state',
    kind: 'text',
    flag: 'journal-key-file',
    env: ['JOURNAL_KEY_FILE'],
    placeholder: 'FILE',
    default: undefined,
    defaultMeaning: 'journal.key in --state-dir, made on first use',
    meaning:
      'Key that seals what updates write into the engine: an interrupted update is repaired only when it was begun with the same key',
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
    meaning: 'Repair the interrupted update of this container also without the seal of the key',
    example: 'web',
    commands: ['recover'],
  },
} as const satisfies Readonly<Record<string, Option>>;
