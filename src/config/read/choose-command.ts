import type { CommandLine, GivenFlag } from '../given/given.ts';
import { editDistance } from '../../domain/text/edit-distance.ts';
import { printable, quoted } from '../../domain/text/printable.ts';
import { commandNamed, commands, type CommandName } from '../declaration/commands.ts';
import type { Fault } from '../declaration/fault.ts';
import { options, type OptionKey } from '../table/options.ts';
import { takesOption, type Option } from '../declaration/option.ts';

type Words = {
  readonly words: readonly string[];
  /** Words after `--`: never a command. */
  readonly namesAfterTerminator: readonly string[];
  readonly flags: ReadonlyMap<OptionKey, GivenFlag>;
};

/** The first word is the command. If it is not a command, all words are container names, and the command is `run`. */
export function chooseCommand({ words, namesAfterTerminator, flags }: Words): Omit<CommandLine, 'flags'> {
  const [first = '', ...rest] = words[0] === 'notify-upgrade' ? ['notify', 'upgrade', ...words.slice(1)] : words;
  const question = first === 'help' || first === 'version' ? first : undefined;
  const named = commandNamed(first) ?? (question === undefined ? undefined : commandNamed(rest[0] ?? ''));
  const command = named ?? runCommand;
  const names = question === undefined ? [...(named === undefined ? words : rest), ...namesAfterTerminator] : [];
  return {
    command: command.name,
    commandNamed: named !== undefined,
    names: names.map((name) => name.replace(/^\//, '')),
    wants: question ?? 'command',
    faults: [
      ...(named === undefined && question === undefined ? faultsOfFirstWord(first) : []),
      ...(command.takesNames ? [] : names.map((name) => strayName(command.name, name))),
      ...[...flags].flatMap(([key, { source }]) => faultsOfFlag(command.name, key, source)),
    ],
  };
}

const runCommand = commands[0];

/** Words that users expect to be commands. A container with such a name needs `run` before it. */
const notContainers = new Set(['list', 'ps', 'serve', 'status']);

function faultsOfFirstWord(word: string): readonly Fault[] {
  const near = [...commands.map(({ name }) => name), 'help', 'version'].find((name) => isSlipOf(name, word));
  if (word === '' || (near === undefined && !notContainers.has(word))) return [];
  const known = commands.map(({ name }) => name).join(', ');
  const hint = near === undefined ? `the commands are ${known}` : `did you mean "${near}"?`;
  const escape = `for a container of that name write "upkeep run ${printable(word, 100)}"`;
  return [{ kind: 'usage', message: `Cannot run ${quoted(word)}: there is no such command; ${hint} (${escape})` }];
}

/** Stricter than for options, because any other word is a container name. */
function isSlipOf(name: string, word: string): boolean {
  return word.length < 20 && editDistance(word.toLowerCase(), name) <= (name.length > 4 ? 2 : 1);
}

function strayName(command: CommandName, name: string): Fault {
  return { kind: 'usage', message: `Cannot use ${quoted(name)}: "upkeep ${command}" takes no names` };
}

function faultsOfFlag(command: CommandName, key: OptionKey, source: string): readonly Fault[] {
  const option: Option = options[key];
  if (takesOption(command, option)) return [];
  const where = option.commands.map((name) => `"upkeep ${name}"`).join(', ');
  return [{ kind: 'usage', message: `Cannot use ${source} with "upkeep ${command}": it belongs to ${where}` }];
}
