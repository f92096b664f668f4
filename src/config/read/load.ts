import { addTo } from '../../domain/text/plain-data.ts';
import { withoutQuotes } from '../../domain/text/printable.ts';
import type { CommandLine } from '../given/given-options.ts';
import { readCommandLine } from './command-line.ts';
import type { CommandName } from '../declaration/commands.ts';
import { hasDropInVariable, readVariable, unknownVariables, type Environment } from '../table/environment.ts';
import { exitCodeOf, refusedValue, type Fault, type Read } from '../declaration/fault.ts';
import { takesOption, type Option } from '../declaration/option.ts';
import { optionEntries, type OptionKey, type OptionValues } from '../table/options.ts';
import { parseValue } from './parse.ts';
import { readFileValue } from '../given/secrets.ts';
import { makeSettings } from './make-settings.ts';
import type { Settings } from './process-settings.ts';
import { showOptions, type ShownOption } from '../show/shown-configuration.ts';

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
  const made = makeSettings({ ...line, commandNamed: isNamed, values, sourceOf });
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
