import { parseArgs, type ParseArgsConfig } from 'node:util';
import { editDistance, nearest } from '../../domain/text/name-pattern.ts';
import { withoutSecretParts } from '../../domain/text/hidden-secrets.ts';
import { printable, quoted } from '../../domain/text/printable.ts';
import { commandNamed, commands, type CommandName } from '../table/commands.ts';
import { takesOption, type Fault, type Option } from '../table/option.ts';
import { optionEntries, options, type OptionKey, type OptionValues } from '../table/options.ts';

/** Parses the arguments (without the paths of Node and script). Never throws: `faults` lists the errors. */
export function readCommandLine(given: readonly string[]): CommandLine {
  // `-v` alone is a question in most programs. With a value it is the API version, as in the Watchtower family.
  const argv = given.length === 1 && given[0] === '-v' ? ['--version'] : given;
  const { words, namesAfterTerminator, flagTokens } = split(argv);
  const flags = new Map<OptionKey, GivenFlag>();
  const faults: Fault[] = [];
  for (const token of flagTokens) {
    if (asksForHelpOrVersion(token)) continue;
    const flag = readFlag(token);
    if (flag.kind === 'fault') faults.push({ kind: 'usage', message: flag.message });
    else flags.set(flag.key, { source: flag.source, texts: [...(flags.get(flag.key)?.texts ?? []), flag.text] });
  }
  const chosen = chooseCommand({ words, namesAfterTerminator, flags });
  return { ...chosen, flags, mode: modeOf(flagTokens, chosen.mode), faults: [...faults, ...chosen.faults] };
}

type ParserOptions = NonNullable<ParseArgsConfig['options']>;

type Token = ReturnType<typeof parseTokens>[number];

/** One pass over the result of `parseArgs`. It knows flags and their arity; their meaning is decided here. */
function split(argv: readonly string[]) {
  const known = parserOptions();
  const args = withLongFlags(argv, known);
  const tokens = parseTokens(args, known);
  const words: string[] = [];
  const namesAfterTerminator: string[] = [];
  const flagTokens: FlagToken[] = [];
  let terminated = false;
  for (const [position, token] of tokens.entries()) {
    const before = tokens[position - 1];
    if (token.kind === 'option-terminator') terminated = true;
    else if (token.kind === 'positional') {
      if (!isValueOfUnknown(token.value, before)) (terminated ? namesAfterTerminator : words).push(token.value);
    } else {
      const next = tokens[position + 1];
      const nextWord = next?.kind === 'positional' && next.index === token.index + 1 ? next.value : undefined;
      flagTokens.push({
        name: token.name,
        written: token.rawName,
        // As written: withLongFlags() has changed a value that looks like a flag.
        text: token.inlineValue === false ? argv[token.index + 1] : token.value,
        inline: token.inlineValue,
        nextWord,
      });
    }
  }
  return { words, namesAfterTerminator, flagTokens };
}

function parseTokens(args: string[], options: ParserOptions) {
  return parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true }).tokens;
}

/** It may be the secret of a mistyped option, so no message repeats it. The name of a command is none. */
function isValueOfUnknown(word: string, before: Token | undefined): boolean {
  return (
    before?.kind === 'option' &&
    before.value === undefined &&
    !isKnownFlag(before.name) &&
    commandNamed(word) === undefined
  );
}

function parserOptions(): ParserOptions {
  const options: ParserOptions = {
    help: { type: 'boolean', short: 'h' },
    version: { type: 'boolean', short: 'V' },
  };
  for (const [, { flag, short, kind }] of optionEntries) {
    if (flag === undefined) continue;
    const type = kind === 'boolean' ? 'boolean' : 'string';
    options[flag] = short === undefined ? { type } : { type, short };
  }
  return options;
}

/**
 * `-c=false`, as in the Watchtower family, means `--cleanup=false`. `parseArgs` would read four short flags. A secret is
 * not read as short flags either: `-token=x` becomes an unknown flag, and `-pSECRET` becomes `-p`.
 */
function withLongFlags(argv: readonly string[], options: ParserOptions): string[] {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const long = new Map(Object.entries(options).map(([flag, { short }]) => [short, flag]));
  return argv.map((argument, index) => {
    const [, letter = '', rest = '', value] = (index < end && /^-([A-Za-z])([^=]*)(=.*)?$/s.exec(argument)) || [];
    if (letter === '') return argument;
    // `-help` means `-h`.
    if (rest !== '' && rest !== 'elp' && Object.hasOwn(options, letter + rest)) return `--${argument}`;
    const flag = long.get(letter);
    if (flag === undefined) return `-${letter}`;
    return rest === '' && value !== undefined ? `--${flag}${value}` : argument;
  });
}

function asksForHelpOrVersion({ name }: FlagToken): boolean {
  return name === 'help' || name === 'version';
}

function modeOf(tokens: readonly FlagToken[], byWord: CommandLine['mode']): CommandLine['mode'] {
  if (byWord === 'help' || tokens.some(({ name }) => name === 'help')) return 'help';
  return byWord === 'version' || tokens.some(({ name }) => name === 'version') ? 'version' : 'command';
}

type Words = {
  readonly words: readonly string[];
  /** Words after `--`: never a command. */
  readonly namesAfterTerminator: readonly string[];
  readonly flags: ReadonlyMap<OptionKey, GivenFlag>;
};

/** The first word is the command. If it is not a command, all words are container names, and the command is `run`. */
function chooseCommand({ words, namesAfterTerminator, flags }: Words): Omit<CommandLine, 'flags'> {
  const [first = '', ...rest] = words[0] === 'notify-upgrade' ? ['notify', 'upgrade', ...words.slice(1)] : words;
  const question = first === 'help' || first === 'version' ? first : undefined;
  const named = commandNamed(first) ?? (question === undefined ? undefined : commandNamed(rest[0] ?? ''));
  const command = named ?? runCommand;
  const names = question === undefined ? [...(named === undefined ? words : rest), ...namesAfterTerminator] : [];
  return {
    command: command.name,
    commandNamed: named !== undefined,
    names: names.map((name) => name.replace(/^\//, '')),
    mode: question ?? 'command',
    faults: [
      ...(named === undefined && question === undefined ? faultsOfFirstWord(first) : []),
      ...(command.usage === '' ? names : []).map((name) => unexpectedName(command.name, name, 'no names')),
      ...(command.usage === 'NAME' ? names.slice(1) : []).map((name) => unexpectedName(command.name, name, 'one name')),
      ...(command.usage.startsWith('NAME') && names.length === 0 ? [missingName(command.name)] : []),
      ...[...flags].flatMap(([key, { source }]) => faultsOfFlag(command.name, key, source)),
    ],
  };
}

const runCommand = commands[0];

/** Words that users expect to be commands. A container with such a name needs `run` before it. */
const notContainers = new Set(['serve']);

function faultsOfFirstWord(word: string): readonly Fault[] {
  const near = [...commands.map(({ name }) => name), 'help', 'version'].find((name) => isTypoOf(name, word));
  if (word === '' || (near === undefined && !notContainers.has(word))) return [];
  const known = commands.map(({ name }) => name).join(', ');
  const hint = near === undefined ? `the commands are ${known}` : `did you mean "${near}"?`;
  const escape = `for a container of that name write "upkeep run ${printable(word, 100)}"`;
  return [{ kind: 'usage', message: `Cannot run ${quoted(word)}: there is no such command; ${hint} (${escape})` }];
}

/** Stricter than for options, because any other word is a container name. */
function isTypoOf(name: string, word: string): boolean {
  return word.length < 20 && editDistance(word.toLowerCase(), name) <= (name.length > 4 ? 2 : 1);
}

function unexpectedName(command: CommandName, name: string, taken: string): Fault {
  return {
    kind: 'usage',
    message: `Cannot use ${quoted(withoutSecretParts(name))}: "upkeep ${command}" takes ${taken}`,
  };
}

function missingName(command: CommandName): Fault {
  return {
    kind: 'usage',
    message: `Cannot run "upkeep ${command}": no container is named, as in "upkeep ${command} web"`,
  };
}

function faultsOfFlag(command: CommandName, key: OptionKey, source: string): readonly Fault[] {
  const option: Option = options[key];
  if (takesOption(command, option)) return [];
  const where = option.commands.map((name) => `"upkeep ${name}"`).join(', ');
  return [{ kind: 'usage', message: `Cannot use ${source} with "upkeep ${command}": it belongs to ${where}` }];
}

type FlagToken = {
  /** Without dashes. The long name for a known short one. */
  readonly name: string;
  /** With its dashes, as written. */
  readonly written: string;
  readonly text: string | undefined;
  /** Whether the text was joined to the flag: `--flag=text`. */
  readonly inline: boolean | undefined;
  /** The word after the flag, if it is not the flag's value. */
  readonly nextWord: string | undefined;
};

type ReadFlag =
  | { readonly kind: 'flag'; readonly key: OptionKey; readonly source: string; readonly text: string }
  | { readonly kind: 'fault'; readonly message: string };

/** Finds the option of a flag, and its text. A boolean may stand alone, with `=value`, or as `--no-flag`. */
function readFlag(token: FlagToken): ReadFlag {
  const known = byFlag.get(token.name);
  if (known !== undefined) return known.option.kind === 'boolean' ? readBoolean(known, token) : readText(known, token);
  const negated = negatable(token.name);
  return negated === undefined ? unknownFlag(token) : readNegation(negated, token);
}

type Known = { readonly key: OptionKey; readonly option: Option; readonly flag: string };

const byFlag: ReadonlyMap<string, Known> = new Map(
  optionEntries.flatMap(([key, option]) =>
    option.flag === undefined ? [] : [[option.flag, { key, option, flag: option.flag }]],
  ),
);

function readBoolean({ key, flag }: Known, { written, text, inline, nextWord }: FlagToken): ReadFlag {
  if (inline === true) return { kind: 'flag', key, source: written, text: text ?? '' };
  if (nextWord !== undefined && /^(?:true|false|[01tf])$/i.test(nextWord)) {
    const long = written.startsWith('--') ? written : `--${flag}`;
    return fault(`Cannot use ${long} with a separate value: write ${long}=${nextWord}`);
  }
  return { kind: 'flag', key, source: written, text: 'true' };
}

function readText({ key, option, flag }: Known, { written, text, inline }: FlagToken): ReadFlag {
  if (text === undefined) return fault(`Cannot use ${written}: it needs a value`);
  const looksLikeFlag = inline !== true && text.startsWith('-') && text.length > 1;
  if (!looksLikeFlag) return { kind: 'flag', key, source: written, text };
  if (option.secret === true)
    return fault(`Cannot use ${written}: it needs a value (one that begins with - is written --${flag}=VALUE)`);
  const shown = withoutSecretParts(text);
  const joined = `--${flag}=${printable(shown, 100)}`;
  return fault(`Cannot use ${written}: it needs a value (if ${quoted(shown)} is meant, write ${joined})`);
}

/** `--no-x` means `--x=false`, unless a flag's own name begins with `no-`, because two negations confuse. */
function negatable(name: string): Known | undefined {
  if (!name.startsWith('no-') || name.startsWith('no-no-')) return undefined;
  const known = byFlag.get(name.slice('no-'.length));
  return known?.option.kind === 'boolean' ? known : undefined;
}

function readNegation({ key, flag }: Known, { written, inline }: FlagToken): ReadFlag {
  if (inline === true) return fault(`Cannot use ${written} with a value: it means --${flag}=false`);
  return { kind: 'flag', key, source: written, text: 'false' };
}

function isKnownFlag(name: string): boolean {
  return byFlag.has(name) || negatable(name) !== undefined || name === 'help' || name === 'version';
}

/** `---name` stands for `-name`. A text that is joined to the name may be a secret. */
function unknownFlag({ name, written }: FlagToken): ReadFlag {
  const joined = [...byFlag.values()].find(
    ({ flag, option }) => isJoined(name.slice(flag.length), option) && name.startsWith(flag),
  );
  // Every secret may be in a file.
  if (joined !== undefined && /^-?file$/i.test(name.slice(joined.flag.length)))
    return fault(`Cannot use --${name}: there is no such option; write --${joined.flag}=FILE, which reads the file`);
  if (joined !== undefined)
    return fault(`Cannot use --${joined.flag} with a text joined to it: write --${joined.flag}=VALUE`);
  const near = written.startsWith('--')
    ? nearest(name.toLowerCase(), [...byFlag.keys(), 'help', 'version'])
    : undefined;
  const isNear =
    near !== undefined && editDistance(name.toLowerCase(), near) <= Math.max(1, Math.floor(name.length / 3));
  const hint = isNear ? `; did you mean --${near}?` : '';
  const [shown = ''] = /^-*[\w-]*/.exec(written.replace(/^---/, '-')) ?? [];
  return fault(`Cannot use ${printable(shown, 100)}: there is no such option${hint}`);
}

function isJoined(rest: string, { secret = false }: Option): boolean {
  return rest !== '' && (secret || /^[^\w-]/.test(rest));
}

function fault(message: string): ReadFlag {
  return { kind: 'fault', message };
}

/** The parsed command line. Its values are still text. */
export type CommandLine = {
  readonly command: CommandName;
  /** False without a command, which means `run`. */
  readonly commandNamed: boolean;
  readonly names: readonly string[];
  readonly flags: ReadonlyMap<OptionKey, GivenFlag>;
  readonly mode: 'command' | 'help' | 'version';
  readonly faults: readonly Fault[];
};

/** `source` is the flag as written. A repeated flag has several texts. */
type GivenFlag = { readonly source: string; readonly texts: readonly string[] };

export type Given = {
  readonly command: CommandName;
  readonly commandNamed: boolean;
  readonly names: readonly string[];
  readonly values: OptionValues;
  /** The data that updates copy. `values.data` may be the answer in a rollback. */
  readonly copiedData: OptionValues['data'];
  /** The flag or variable that set an option. */
  readonly sourceOf: (key: keyof OptionValues) => string;
};
