import { commandNamed, commands, type Command, type CommandName, type ExitCode } from '../declaration/commands.ts';
import { variablesOf } from '../table/environment.ts';
import { defaultText, flagText } from '../declaration/option-text.ts';
import { optionGroups, type OptionGroup } from '../../domain/settings/table/option.ts';
import { takesOption, type Option } from '../declaration/option.ts';
import { optionEntries } from '../table/options.ts';

/** Text of `upkeep --help` or `upkeep <command> --help`, wrapped to `columns` (between 40 and 100). */
export function helpText(command: CommandName | undefined, columns: number): string {
  const width = Math.min(Math.max(columns, 40), 100);
  const named = command === undefined ? undefined : commandNamed(command);
  return [...(named === undefined ? overview(width) : commandHelp(named, width)), ''].join('\n');
}

function overview(width: number): string[] {
  return [
    ...wrap('upkeep: keeps your containers up to date, and up', 0, width),
    '',
    ...wrap('Usage: upkeep [COMMAND] [OPTION…] [NAME…]', 0, width),
    '',
    ...commands.flatMap(({ name, summary }) => entry(name, summary, 12, width)),
    '',
    ...wrap('upkeep COMMAND --help lists the options of a command; upkeep --version prints the version.', 0, width),
    ...wrap('Without a command, upkeep runs the service.', 0, width),
  ];
}

function commandHelp(command: Command & { readonly name: CommandName }, width: number): string[] {
  const used = optionEntries.map(([, option]) => option).filter((option) => takesOption(command.name, option));
  return [
    ...wrap(`Usage: upkeep ${[command.name, '[OPTION…]', command.usage].join(' ').trimEnd()}`, 0, width),
    '',
    ...wrap(`${command.meaning}.`, 0, width),
    '',
    ...command.examples.flatMap(({ line, meaning }) => [`  ${line}`, ...wrap(meaning, 6, width)]),
    ...groups.flatMap((group) => groupHelp(group, used, width)),
    '',
    'Exit codes:',
    ...[...command.exitCodes, usageCode]
      .toSorted((one, other) => one.code - other.code)
      .flatMap(({ code, meaning }) => entry(`${code}`, meaning, 4, width)),
    '',
    ...wrap('A flag overrides its variable. WATCHTOWER_* variables work like UPKEEP_* variables.', 0, width),
    ...acceptedHelp(used, width),
  ];
}

const usageCode: ExitCode = { code: 2, meaning: 'the command line is wrong; nothing was done' };

// The keys of the object that the type is made of.
const groups = (Object.keys(optionGroups) as OptionGroup[]).filter((group) => group !== 'accepted');

function groupHelp(group: OptionGroup, used: readonly Option[], width: number): string[] {
  const ofGroup = used.filter((option) => option.group === group);
  if (ofGroup.length === 0) return [];
  return ['', `${optionGroups[group]}:`, ...ofGroup.flatMap((option) => optionHelp(option, width))];
}

function acceptedHelp(used: readonly Option[], width: number): string[] {
  const count = used.filter(({ group }) => group === 'accepted').length;
  if (count === 0) return [];
  const line = `${count} Watchtower options are accepted without effect: docs/configuration.md lists them.`;
  return wrap(line, 0, width);
}

function optionHelp(option: Option, width: number): string[] {
  const [variable] = variablesOf(option);
  const standing = defaultText(option);
  const notes = [
    ...(standing === 'none' || standing === 'false' ? [] : [`default: ${standing}`]),
    ...(option.deprecated === undefined ? [] : [`deprecated: ${option.deprecated}`]),
    ...(variable === undefined || option.flag === undefined ? [] : [variable.name]),
  ];
  const text = option.meaning + (notes.length === 0 ? '' : ` [${notes.join('; ')}]`);
  return entry(flagText(option) || (variable?.name ?? ''), text, width < 70 ? 6 : 34, width);
}

/** A term and, from a column on, its explanation; below the term where that is too long. */
function entry(term: string, explanation: string, column: number, width: number): string[] {
  const lines = wrap(explanation, column + 2, width);
  if (term.length + 2 > column) return [`  ${term}`, ...lines];
  return [`  ${term}`.padEnd(column + 2) + (lines[0] ?? '').trimStart(), ...lines.slice(1)];
}

function wrap(text: string, indent: number, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && indent + line.length + 1 + word.length > width) {
      lines.push(' '.repeat(indent) + line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, ' '.repeat(indent) + line];
}
