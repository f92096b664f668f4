import { editDistance, nearest } from '../../domain/text/name-pattern.ts';
import { withoutSecretParts } from '../../domain/text/hidden-secrets.ts';
import { printable, quoted } from '../../domain/text/printable.ts';
import type { Option } from '../declaration/option.ts';
import { optionEntries, type OptionKey } from '../table/options.ts';

export type FlagToken = {
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

export type ReadFlag =
  | { readonly kind: 'flag'; readonly key: OptionKey; readonly source: string; readonly text: string }
  | { readonly kind: 'fault'; readonly message: string };

/** Finds the option of a flag, and its text. A boolean may stand alone, with `=value`, or as `--no-flag`. */
export function readFlag(token: FlagToken): ReadFlag {
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

export function isKnownFlag(name: string): boolean {
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
