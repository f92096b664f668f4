import { type CommandName, commands } from '../declaration/commands.ts';
import { takesOption, type Option } from '../declaration/option.ts';
import { optionEntries } from '../table/options.ts';

export type CompletedCommand = {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly CompletedFlag[];
  /** Completion of the arguments after the flags: container names, these words, or none. */
  readonly operands: 'containers' | readonly string[];
};

export type CompletedFlag = {
  /** Without dashes. */
  readonly name: string;
  readonly short: string | undefined;
  readonly meaning: string;
  /** Kind of the flag's value; `text` cannot be completed. */
  readonly value: 'none' | 'text' | 'file' | 'folder' | readonly string[];
};

export const shells = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof shells)[number];

/**
 * Prints container names, one per line, for the shell's own completion. Empty without a client. A lying engine can
 * send any text, and a shell executes some of it; names of containers have these characters only.
 */
export const listContainers = `{ docker ps -a --format '{{.Names}}' || podman ps -a --format '{{.Names}}'; } 2>/dev/null | LC_ALL=C grep -E '^[a-zA-Z0-9][a-zA-Z0-9_.-]*$'`;

/** All commands with their options, without deprecated options and options without an effect. */
export function completedCommands(): readonly CompletedCommand[] {
  const completed = commands.map(({ name, summary, usage, ...command }): CompletedCommand => ({
    name,
    summary,
    flags: [
      ...optionEntries.flatMap(([, option]) => (takesOption(name, option) ? flagOf(option) : [])),
      help,
      ...(name === withoutName ? [version] : []),
    ],
    operands: 'operands' in command ? command.operands : usage !== '' ? 'containers' : [],
  }));
  return [
    ...completed,
    { name: 'help', summary: 'list the options of a command', flags: [], operands: commands.map(({ name }) => name) },
    { name: 'version', summary: 'print the version', flags: [], operands: [] },
  ];
}

/** The command of a line without the name of a command. */
export const withoutName: CommandName = 'run';

const help: CompletedFlag = { name: 'help', short: 'h', meaning: 'List the options', value: 'none' };
const version: CompletedFlag = { name: 'version', short: 'V', meaning: 'Print the version', value: 'none' };

/** The flags with a value, of all commands. The same flag means the same with every command. */
export function flagsWithValue(completed: readonly CompletedCommand[]): readonly CompletedFlag[] {
  const flags = new Map(completed.flatMap((command) => command.flags.map((flag) => [flag.name, flag] as const)));
  return [...flags.values()].filter(({ value }) => value !== 'none');
}

/** `--stop-timeout`, `-t` */
export function spellingsOf({ name, short }: CompletedFlag): readonly string[] {
  return short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`];
}

function flagOf(option: Option): readonly CompletedFlag[] {
  const { flag, short, withoutEffect, deprecated } = option;
  if (flag === undefined || withoutEffect !== undefined || deprecated !== undefined) return [];
  const [meaning = ''] = option.meaning.split(/[:;.] /);
  return [{ name: flag, short, meaning, value: valueOf(option) }];
}

function valueOf(option: Option): CompletedFlag['value'] {
  if (option.kind === 'boolean') return 'none';
  if (option.kind === 'choice') return option.choices;
  if (option.placeholder === 'FILE') return 'file';
  return option.placeholder === 'FOLDER' ? 'folder' : 'text';
}
