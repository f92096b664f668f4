import { addTo } from '../../domain/text/plain-data.ts';
import { withoutQuotes } from '../../domain/text/printable.ts';
import { readCommandLine, type CommandLine } from './command-line.ts';
import type { CommandName } from '../table/commands.ts';
import { hasDropInVariable, readVariable, unknownVariables, type Environment } from '../table/environment.ts';
import { exitCodeOf, refusedValue, takesOption, type Fault, type Read, type Option } from '../table/option.ts';
import { optionEntries, type OptionKey, type OptionValues } from '../table/options.ts';
import { readFileValue } from './secrets.ts';
import { makeSettings } from './make-settings.ts';
import type { Settings } from './process-settings.ts';
import { showOptions, type ShownOption } from '../show/shown-configuration.ts';
import { kinds } from '../../domain/settings/values/label-values.ts';
import { formatDuration, parseDuration } from '../../domain/text/duration.ts';
import { splitUrls } from '../../domain/notification/message.ts';
import type { DurationOption, IntegerOption, ListOption, ParsedOption } from '../../domain/settings/table/option.ts';

export type Configuration =
  | {
      readonly kind: 'command';
      readonly command: Exclude<CommandName, 'completion'>;
      readonly settings: Settings;
      /** The effective variables of the Watchtower family. */
      readonly aliases: readonly string[];
      /** Every option, for display. */
      readonly options: readonly ShownOption[];
      /** Sentences about settings without effect that the user may rely on. */
      readonly alarms: readonly string[];
      /** Sentences about settings without effect. */
      readonly warnings: readonly string[];
    }
  | { readonly kind: 'help'; readonly command: CommandName | undefined; readonly isAll: boolean }
  | { readonly kind: 'version' }
  /** `operands`: the words after `upkeep completion`. */
  | { readonly kind: 'completion'; readonly operands: readonly string[] }
  /** `message` names every fault, one per line. */
  | { readonly kind: 'faults'; readonly message: string; readonly exitCode: 1 | 2 };

/**
 * The user's configuration, from the arguments (without the paths of Node and script) and the environment: flag before
 * `UPKEEP_*` before `WATCHTOWER_*` before default. Never throws.
 */
export function loadConfiguration(argv: readonly string[], environment: Environment = process.env): Configuration {
  const line = readCommandLine(argv);
  if (line.mode === 'help')
    return { kind: 'help', command: line.commandNamed ? line.command : undefined, isAll: line.flags.has('all') };
  if (line.mode === 'version') return { kind: 'version' };
  const { values, sources, aliases, faults, warnings } = readValues(line, environment);
  const sourceOf = (key: OptionKey) => sources.get(key) ?? key;
  const isNamed = line.commandNamed || hasDropInVariable(environment);
  const made = makeSettings({ ...line, commandNamed: isNamed, values, copiedData: copiedData(), sourceOf });
  const all = [...line.faults, ...faults, ...made.faults];
  if (all.length > 0)
    return {
      kind: 'faults',
      message: [...new Set(all.map(({ message }) => message))].join('\n'),
      exitCode: exitCodeOf(all, line.command === 'run'),
    };
  const { command } = line;
  if (command === 'completion') return { kind: 'completion', operands: line.names };
  return {
    kind: 'command',
    command,
    settings: made.settings,
    aliases,
    options: showOptions(values, sources),
    alarms: made.alarms,
    warnings: [...unknownVariables(environment), ...warnings, ...warnWithoutEffect(sources), ...made.warnings],
  };

  /** `--data restore` and `--data leave` answer a question of a rollback. A variable still says what it copies. */
  function copiedData(): OptionValues['data'] {
    if (values.data.kind !== 'restore' && values.data.kind !== 'leave') return values.data;
    const others = new Map([...line.flags].filter(([key]) => key !== 'data'));
    return readValues({ ...line, flags: others }, environment).values.data;
  }
}

/**
 * A sentence for each reason why a given option has no effect, with all options it applies to. Values are never shown.
 */
function warnWithoutEffect(sources: ReadonlyMap<OptionKey, string>): readonly string[] {
  const byReason = new Map<string, string[]>();
  for (const [key, { withoutEffect }] of optionEntries) {
    const source = sources.get(key);
    if (withoutEffect === undefined || source === undefined) continue;
    addTo(byReason, withoutEffect, source);
  }
  return [...byReason].map(
    ([reason, given]) => `${given.join(', ')} ${given.length === 1 ? 'has' : 'have'} no effect: ${reason}`,
  );
}

type Values = {
  readonly values: OptionValues;
  readonly sources: ReadonlyMap<OptionKey, string>;
  readonly aliases: readonly string[];
  readonly faults: readonly Fault[];
  readonly warnings: readonly string[];
};

/** Variables of options that the command does not use are not read: a demonstration needs no engine's address. */
function readValues({ command, flags }: CommandLine, environment: Environment): Values {
  const values: Partial<Record<OptionKey, unknown>> = {};
  const sources = new Map<OptionKey, string>();
  const aliases: string[] = [];
  const faults: Fault[] = [];
  const warnings: string[] = [];
  const isLocal = (isGiven('engineHost') || isGiven('stateDir')) && !flags.has('remoteUrl');
  for (const [key, option] of optionEntries) {
    values[key] = option.default;
    const looksAtVariable = !flags.has(key) && takesOption(command, option) && !(isLocal && keysOfService.has(key));
    const variable = looksAtVariable ? readVariable(option, environment) : undefined;
    const given = flags.get(key) ?? (variable && { source: variable.source, texts: [variable.text] });
    if (given === undefined) continue;
    sources.set(key, given.source);
    if (variable?.alias === true && option.withoutEffect === undefined) aliases.push(variable.source);
    const texts = given.texts.map((text) => bare(option, text));
    if (option.secret === true && texts.some((text, at) => text !== given.texts[at]))
      warnings.push(`The quotation marks around the value of ${given.source} are not part of it`);
    const read = readValue(option, given.source, texts);
    if (read.kind === 'fault') faults.push(read.fault);
    else values[key] = read.value;
  }
  // Every key of the table has its default, or a value that parseValue() made for its kind.
  return { values: values as OptionValues, sources, aliases, faults, warnings };

  /** An empty text is the default, which names no engine and no folder. */
  function isGiven(key: OptionKey): boolean {
    return flags.get(key)?.texts.some((text) => /[^\s,]/.test(text)) === true;
  }
}

/** In its list form, compose passes on the quotation marks of `- UPKEEP_SCHEDULE="0 0 4 * * *"`. */
function bare(option: Option, text: string): string {
  if (option.kind === 'text' && option.keepsQuotes === true) return text;
  const written = text.trim();
  const inner = withoutQuotes(written);
  return inner === written ? text : inner;
}

/** Flags that name an engine or a folder override the variables that name a running service. */
const keysOfService: ReadonlySet<OptionKey> = new Set(['remoteUrl', 'remoteToken']);

function readValue(option: Option, source: string, texts: readonly string[]): Read<unknown> {
  const last = texts.at(-1) ?? '';
  const isText = option.kind === 'text' || (option.kind === 'parsed' && option.isList !== true);
  if (isText && last.trim() === '') return { kind: 'value', value: option.default };
  if (option.kind === 'text' && option.mayNameFile === true) {
    const file = readFileValue(source, last);
    return file.kind === 'fault' ? file : readParsed(option, source, [file.value]);
  }
  if (option.kind === 'list' && option.mayNameFile === true) return readListFiles(option, source, texts);
  return readParsed(option, source, texts);
}

function readListFiles(option: Option, source: string, texts: readonly string[]): Read<unknown> {
  const read: string[] = [];
  for (const text of texts) {
    const file = readFileValue(source, text);
    if (file.kind === 'fault') return file;
    const lines = file.value.split('\n').filter((line) => !line.trimStart().startsWith('#'));
    read.push(...lines);
  }
  return readParsed(option, source, read);
}

function readParsed(option: Option, source: string, texts: readonly string[]): Read<unknown> {
  if (option.kind === 'boolean' && option.anyValueIsTrue === true && !source.startsWith('-'))
    return { kind: 'value', value: true };
  const parsed = parseValue(option, texts);
  if (parsed.kind === 'value') return parsed;
  const isList = option.kind === 'list' || (option.kind === 'parsed' && option.isList === true);
  const shown = isList ? texts.join(',') : (texts.at(-1) ?? '');
  return { kind: 'fault', fault: refusedValue(source, shown, parsed.expected, option.secret === true) };
}

/** A value of the option's kind, or a text for the accepted values. */
type Parsed = { readonly kind: 'value'; readonly value: unknown } | Refusal;

type Refusal = { readonly kind: 'refused'; readonly expected: string };

/** Parses the texts of an option. Lists use all of them, every other kind the last one. */
export function parseValue(option: Option, texts: readonly string[]): Parsed {
  const text = texts.at(-1) ?? '';
  switch (option.kind) {
    case 'boolean':
      return parseBoolean(text);
    case 'integer':
      return parseInteger(option, text);
    case 'duration':
      return parseDurationOption(option, text);
    case 'list':
      return checked(option, parseList(option.separators, texts));
    case 'choice':
      return parseChoice(option.choices, option.aliases ?? {}, text);
    case 'parsed':
      return parseOwnGrammar(option, option.isList === true ? texts.join(',') : text);
    case 'text':
      return option.accepts === undefined || option.accepts.test(text) ? value(text) : refused(option.accepts.expected);
  }
}

function parseOwnGrammar({ value: { parse, accepted } }: ParsedOption<unknown>, text: string): Parsed {
  const read = parse(text.trim());
  return read === undefined ? refused(accepted) : value(read);
}

function parseBoolean(text: string): Parsed {
  const read = kinds.boolean.parse(text.trim());
  return read === undefined ? refused('true or false (also 1, t, yes, on, 0, f, no, off)') : value(read);
}

function parseInteger({ min, max }: IntegerOption, text: string): Parsed {
  const trimmed = text.trim();
  const number = /^[+-]?\d{1,15}$/.test(trimmed) ? Number(trimmed) : Number.NaN;
  return number >= min && number <= max ? value(number) : refused(`a whole number from ${min} to ${max}`);
}

function parseDurationOption({ minMs, maxMs, months = false }: DurationOption, text: string): Parsed {
  const ms = parseDuration(text, { bareUnit: 's', months });
  if (ms !== undefined && ms >= minMs && ms <= maxMs) return value(ms);
  const range = ms === undefined ? '' : ` between ${formatDuration(minMs)} and ${formatDuration(maxMs)}`;
  return refused(`a duration${range} such as 90s, 1m30s or 2h (a bare number counts seconds)`);
}

function parseList(separators: ListOption['separators'], texts: readonly string[]): readonly string[] {
  const separator = separators === 'comma' ? ',' : /[\s,]+/;
  return texts
    .flatMap((text) => (separators === 'url' ? splitUrls(text) : text.split(separator)))
    .map((item) => withoutQuotes(item.trim()))
    .filter((item) => item !== '');
}

/** More than any configuration needs. Each item is compared with every container. */
const maxItems = 1000;

function checked(option: Option & { kind: 'list' }, items: readonly string[]): Parsed {
  const { accepts, atMost = maxItems, needsItem = false } = option;
  if (needsItem && items.length === 0) return refused(accepts?.expected ?? 'a value');
  if (items.length > atMost) return refused(`at most ${atMost} items`);
  return accepts === undefined || items.every(accepts.test) ? value(items) : refused(accepts.expected);
}

function parseChoice(choices: readonly string[], aliases: Readonly<Record<string, string>>, text: string): Parsed {
  const key = text.trim().toLowerCase();
  const choice = Object.hasOwn(aliases, key) ? aliases[key] : key;
  return choice !== undefined && choices.includes(choice) ? value(choice) : refused(`one of ${choices.join(', ')}`);
}

function value(of: unknown): Parsed {
  return { kind: 'value', value: of };
}

function refused(expected: string): Refusal {
  return { kind: 'refused', expected };
}
