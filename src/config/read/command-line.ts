import { type CommandLine, type GivenFlag } from '../given/given.ts';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { chooseCommand } from './choose-command.ts';
import type { Fault } from '../declaration/fault.ts';
import { readFlag, type FlagToken } from './flag.ts';
import { optionEntries, type OptionKey } from '../table/options.ts';

/** Parses the arguments (without the paths of Node and script). Never throws: `faults` lists the errors. */
export function readCommandLine(argv: readonly string[]): CommandLine {
  const { words, namesAfterTerminator, flagTokens } = split(argv);
  const flags = new Map<OptionKey, GivenFlag>();
  const faults: Fault[] = [];
  for (const token of flagTokens) {
    if (isQuestion(token)) continue;
    const flag = readFlag(token);
    if (flag.kind === 'fault') faults.push({ kind: 'usage', message: flag.message });
    else flags.set(flag.key, { source: flag.source, texts: [...(flags.get(flag.key)?.texts ?? []), flag.text] });
  }
  const chosen = chooseCommand({ words, namesAfterTerminator, flags });
  return { ...chosen, flags, wants: wishOf(flagTokens, chosen.wants), faults: [...faults, ...chosen.faults] };
}

type ParserOptions = NonNullable<ParseArgsConfig['options']>;

/** One pass over the result of `parseArgs`. It knows flags and their arity; their meaning is decided here. */
function split(argv: readonly string[]) {
  const options = parserOptions();
  const args = withLongFlags(argv, options);
  const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  const words: string[] = [];
  const namesAfterTerminator: string[] = [];
  const flagTokens: FlagToken[] = [];
  let terminated = false;
  for (const [position, token] of tokens.entries()) {
    if (token.kind === 'option-terminator') terminated = true;
    else if (token.kind === 'positional') (terminated ? namesAfterTerminator : words).push(token.value);
    else {
      const next = tokens[position + 1];
      const nextWord = next?.kind === 'positional' && next.index === token.index + 1 ? next.value : undefined;
      flagTokens.push({
        name: token.name,
        written: token.rawName,
        text: token.value,
        inline: token.inlineValue,
        nextWord,
      });
    }
  }
  return { words, namesAfterTerminator, flagTokens };
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

/** `-c=false`, as in the Watchtower family, means `--cleanup=false`. `parseArgs` would read four short flags. */
function withLongFlags(argv: readonly string[], options: ParserOptions): string[] {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const long = new Map(Object.entries(options).map(([flag, { short }]) => [short, flag]));
  return argv.map((argument, index) => {
    const [, short, value] = (index < end && /^-([A-Za-z])=(.*)$/s.exec(argument)) || [];
    const flag = long.get(short);
    return short === undefined || flag === undefined ? argument : `--${flag}=${value}`;
  });
}

function isQuestion({ name }: FlagToken): boolean {
  return name === 'help' || name === 'version';
}

function wishOf(tokens: readonly FlagToken[], byWord: CommandLine['wants']): CommandLine['wants'] {
  if (byWord === 'help' || tokens.some(({ name }) => name === 'help')) return 'help';
  return byWord === 'version' || tokens.some(({ name }) => name === 'version') ? 'version' : 'command';
}
