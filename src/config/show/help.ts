import { optionGroups, type OptionGroup } from '../../domain/settings/table/option.ts';
import {
  commandNamed,
  commands,
  decisionCommands,
  type Command,
  type CommandName,
  type ExitCode,
} from '../table/commands.ts';
import { defaultText, flagText, takesOption, type Option } from '../table/option.ts';
import { variablesOf } from '../table/environment.ts';
import { optionEntries } from '../table/options.ts';

type HelpSpace = {
  /** The width of the terminal. The text uses between 40 and 100 columns. */
  readonly columns: number;
  /** Every option with its variable. Otherwise only the common ones, a line each. */
  readonly isAll: boolean;
};

/** Text of `upkeep --help` or `upkeep <command> --help`. */
export function helpText(command: CommandName | undefined, { columns, isAll }: HelpSpace): string {
  const width = Math.min(Math.max(columns, 40), 100);
  const named = command === undefined ? undefined : commandNamed(command);
  return [...(named === undefined ? overview(width) : commandHelp(named, width, isAll)), ''].join('\n');
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

function commandHelp(command: Command & { readonly name: CommandName }, width: number, isAll: boolean): string[] {
  const used = optionEntries.map(([, option]) => option).filter((option) => takesOption(command.name, option));
  const listed = isAll ? used : used.filter((option) => isShort(option, command.name));
  return [
    ...wrap(`Usage: upkeep ${[command.name, '[OPTION…]', command.usage].join(' ').trimEnd()}`, 0, width),
    '',
    ...wrap(`${command.meaning}.`, 0, width),
    '',
    'Examples:',
    ...command.examples.flatMap(({ line, meaning }) => entry(line, meaning, width < 70 ? 6 : 42, width)),
    ...groups.flatMap((group) => groupHelp(group, listed, width, isAll)),
    '',
    'Exit codes:',
    ...[...command.exitCodes, command.name === 'run' ? usageCodeOfService : usageCode]
      .toSorted((one, other) => one.code - other.code)
      .flatMap(({ code, meaning }) => entry(`${code}`, meaning, 4, width)),
    ...(used.length === 0 ? [] : ['', ...restHelp({ name: command.name, used, listed, width, isAll })]),
  ];
}

/** A decision is about the named containers, whatever restrains their updates. */
function isShort({ isCommon, commands: of, group }: Option, command: CommandName): boolean {
  const isOfCheck = group === 'selection' || group === 'update';
  const isDecision = (one: CommandName) => decisionCommands.some((name) => name === one);
  const isOther = isOfCheck && isDecision(command) && !of.every(isDecision);
  return isCommon === true && of.includes(command) && !isOther;
}

function restHelp({ name, used, listed, width, isAll }: HelpedCommand): string[] {
  const rest = used.length - listed.length;
  const options = rest === 1 ? '1 more option' : `${rest} more options`;
  const whatElse = rest === 0 ? 'the variables of these options' : `${options}, and the variables`;
  if (!isAll) return wrap(`upkeep ${name} --help --all lists ${whatElse}.`, 0, width);
  const order = 'A flag overrides its variable. WATCHTOWER_* variables work like UPKEEP_* variables.';
  return [...wrap(order, 0, width), ...acceptedHelp(used, width)];
}

type HelpedCommand = {
  readonly name: CommandName;
  /** Its options, and those of them that are listed. */
  readonly used: readonly Option[];
  readonly listed: readonly Option[];
  readonly width: number;
  readonly isAll: boolean;
};

const usageCode: ExitCode = { code: 2, meaning: 'the command line, or a value, is wrong; nothing was done' };
const usageCodeOfService: ExitCode = { code: 2, meaning: 'the command line is wrong; nothing was done' };

// The keys of the object are the type's members.
const groups = (Object.keys(optionGroups) as OptionGroup[]).filter((group) => group !== 'accepted');

function groupHelp(group: OptionGroup, used: readonly Option[], width: number, isAll: boolean): string[] {
  const ofGroup = used.filter((option) => option.group === group);
  if (ofGroup.length === 0) return [];
  const help = isAll ? optionHelp : shortHelp;
  return ['', `${optionGroups[group]}:`, ...ofGroup.flatMap((option) => help(option, width))];
}

function acceptedHelp(used: readonly Option[], width: number): string[] {
  const count = used.filter(({ group }) => group === 'accepted').length;
  if (count === 0) return [];
  const line = `${count} Watchtower options are accepted without effect: docs/configuration.md lists them.`;
  return wrap(line, 0, width);
}

function optionHelp(option: Option, width: number): string[] {
  const [variable] = variablesOf(option);
  const defaultValue = shownDefault(option);
  const notes = [
    ...(defaultValue === '' ? [] : [`default: ${defaultValue}`]),
    ...(option.deprecated === undefined ? [] : [`deprecated: ${option.deprecated}`]),
    ...(variable === undefined || option.flag === undefined ? [] : [variable.name]),
  ];
  const text = option.meaning + (notes.length === 0 ? '' : ` [${notes.join('; ')}]`);
  return entry(termOf(option), text, columnOf(width), width);
}

/**
 * The first sentence of the meaning. A long one ends in `…` after its first clause, with its text in brackets; a short
 * one is whole, because its end often says what the option does not do.
 */
function shortHelp(option: Option, width: number): string[] {
  const [whole = ''] = option.meaning.split(/\. (?=[A-Z])/);
  const [clause = ''] = /^(?:\([^)]*\)|[^,:;(]|[,:;](?! ))*/.exec(whole) ?? [];
  const isWhole = whole.length <= maxShortMeaning || clause.length === whole.length;
  // The sign stays on the line of its clause.
  const sentence = isWhole ? whole : `${clause}\u00A0…`;
  const defaultValue = option.defaultMeaning === undefined ? shownDefault(option) : '';
  const text = sentence + (defaultValue === '' ? '' : ` [${defaultValue}]`);
  return entry(termOf(option), text, columnOf(width), width).map((line) => line.replace('\u00A0', ' '));
}

/** A line of a terminal with 100 columns. */
const maxShortMeaning = 66;

function termOf(option: Option): string {
  return flagText(option) || (variablesOf(option)[0]?.name ?? '');
}

/** Empty if the default is obvious. */
function shownDefault(option: Option): string {
  const defaultValue = defaultText(option);
  return defaultValue === 'none' || defaultValue === 'false' ? '' : defaultValue;
}

function columnOf(width: number): number {
  return width < 70 ? 6 : 34;
}

/** A term with its explanation, which starts at the column, or below a long term. */
function entry(term: string, explanation: string, column: number, width: number): string[] {
  const lines = wrap(explanation, column + 2, width);
  if (term.length + 2 > column) return [`  ${term}`, ...lines];
  return [`  ${term}`.padEnd(column + 2) + (lines[0] ?? '').trimStart(), ...lines.slice(1)];
}

/** Every character of the help takes one column. The library that wraps any text would double the time of `upkeep --help`. */
function wrap(text: string, indent: number, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && longer.length > width - indent) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line].map((each) => ' '.repeat(indent) + each);
}
