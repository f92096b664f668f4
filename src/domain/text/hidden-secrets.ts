/** Hides secrets in texts that are shown: values of settings, logs of containers, words of services. */

import { quoted, printable } from './printable.ts';

/**
 * A value of a setting for messages and lists, without the parts of it that hold secrets: the login, query and fragment
 * of an address, the value of a key such as `token=`, a key in PEM.
 */
export function withoutSecretParts(text: string): string {
  // A list is split at spaces, so a key in its place is no longer whole.
  return text.includes('-----') ? hidden : withoutQuery(withoutLogin(text));
}

/**
 * True for a path that can be shown. The content of a file with secrets is none: it has lines, is JSON, or is one long
 * word in hex or base64.
 */
export function isPlainPath(text: string): boolean {
  return (
    withoutSecretParts(text) === text &&
    !/[\r\n{}]/.test(text) &&
    !/^(?!~?\/|\.)(?:[\w=-]{24,}|[A-Za-z\d+/=]{24,})$/.test(text)
  );
}

/** A path for the middle of a message, after its space. Empty for a text that is no plain path. */
export function shownPath(text: string): string {
  return isPlainPath(text) ? ` ${quoted(text, 300)}` : '';
}

/** For a text that is no plain path. */
export const pathRemedy = 'give the path of a file, not its content';

/** Everything before the last `@`, because a password may contain any character. */
function withoutLogin(text: string): string {
  const [, before] = lastAt.exec(text) ?? [];
  if (before === undefined) return text.replace(passwordAsPort, `$1${hidden}`);
  const at = before.indexOf('://');
  // The space is that of a schedule such as `TZ=:UTC @daily`.
  if (at < 0 && (!before.includes(':') || /\s/.test(before.slice(-1)))) return text;
  const scheme = at < 0 ? '' : before.slice(0, at + '://'.length);
  return scheme + hidden + text.slice(before.length);
}

/** Not that of the digest of an image, of the plain user of an SSH address or of the path of a socket. */
const lastAt = /^(.*)@(?<!(?:ssh:\/\/[\w.-]*|unix:\/\/\/[\w./-]*)@)(?!sha\d{3})/is;

/** Of an address that ends in its password. */
const passwordAsPort = /^([^:]*:\/\/[^/?#:[\s]*:)(?!\d*(?:[/?#,\s]|$)).*/s;

function withoutQuery(text: string): string {
  const address = Math.max(text.indexOf('://'), 0);
  const mark = (address === 0 ? elsewhere : inAddress).exec(text.slice(address));
  if (mark === null) return text;
  const kept = text.slice(0, address + mark.index + mark[0].length);
  return kept === text ? text : kept + hidden;
}

const inAddress = /[?#]|(?:token|password|secret)=/i;

/** A question mark alone may belong to a pattern. */
const elsewhere = /[?#](?=[\w.~%-]+=)|(?:token|password|secret)=/i;

/**
 * The end of a container's log, safe to print: at most 50 lines of 500 characters. Values of secret environment
 * variables, passwords in URLs and text after words like `password` or `token` are hidden. Other secrets in a log
 * cannot be recognised.
 */
export function logTail(log: string, env: readonly string[]): string {
  const lines = hideSecrets(log, env).split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines
    .slice(-maxLines)
    .map((line) => `${printable(line, maxLineLength)}\n`)
    .join('');
}

/**
 * The lines of such an end that tell why the process ended, at most two: the last one with a word of failure, and the
 * very last one. Each has at most 300 characters.
 */
export function telltaleLines(tail: string): readonly string[] {
  const lines = tail.split('\n').filter((line) => line.trim() !== '');
  const last = lines.at(-1);
  if (last === undefined) return [];
  const found = lines.findLast((line) => finalWords.test(line)) ?? lines.findLast((line) => failureWords.test(line));
  return [...new Set([found ?? last, last])].map((line) => cutTo(line.trim(), maxTelltaleLength));
}

function cutTo(line: string, max: number): string {
  return line.length <= max ? line : `${line.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

const maxTelltaleLength = 300;
const finalWords = /\b(?:fatal|panic|emerg|critical|segfault|out of memory)/i;
const failureWords =
  /\b(?:error|err|exception|traceback|abort|cannot|can't|could not|couldn't|unable|failed|failure|denied|refused|not found|no such|invalid|missing|killed)\b|error:/i;

/** The text with possible secrets hidden; `env` is the environment of its container. */
export function hideSecrets(text: string, env: readonly string[]): string {
  let shown = text;
  for (const secret of secretsIn(env)) shown = shown.replaceAll(secret, hidden);
  return shown.split('\n').map(hideInLine).join('\n');
}

function hideInLine(line: string): string {
  const read = line.slice(0, maxReadLength);
  let shown = line.length > maxReadLength ? read.replace(cutPassword, `$1${hidden}`) : read;
  for (const secret of [passwordInUrl, tokenInUrl, headerSecret, labelledSecret])
    shown = shown.replace(secret, `$1${hidden}`);
  return shown;
}

const hidden = '***';
const maxLines = 50;
const maxLineLength = 500;

/** The rest of a value without a sensitive name is not searched for URLs. */
const maxValueLength = 32_768;

/** The rest of a line is not read, so that no line takes long. */
const maxReadLength = 2000;

const secretName = /pass(?:word|wd|phrase)?$|pwd$|secret|token|credential|api_?key|private_?key|access_?key/i;

/** A password ends with the last `@` before the path of the URL, because it may contain others. */
const passwordInUrl = /([a-z][a-z\d+.-]{0,20}:\/\/[^\s/@:]{0,256}:)[^\s/]+(?=@)/gi;

/** A name of that length is a token: `https://TOKEN@github.com`. */
const tokenInUrl = /(\bhttps?:\/\/)[^\s/@:]{20,1000}(?=@)/gi;

/** A password whose end was cut off with the rest of its line. */
const cutPassword = /(:\/\/[^\s/@:]{0,256}:)[^\s/]+$/;

const colours = String.raw`(?:.\[[\d;]{0,9}m){0,2}`;
const sign = String.raw`(?:[=:]{1,2}>?|->)\s{0,3}${colours}`;
/** Between a name and its value: `=`, `": "`, `"=>"`, `:=`, `]=`, `->`, also with the colours of a terminal. */
const between = String.raw`${colours}\\{0,3}(?:["'\]]|%5d){0,2}${colours}\s{0,3}${sign}`;

const secretLabel =
  '(?:pass(?:word|wd|phrase)?|pwd|secret|token|credentials?|(?:api|access|private|secret)[_-]?key|authorization)';

/** A list ends with its bracket, a quoted secret with its quote, any other one at a space or separator. */
const labelledSecret = new RegExp(
  [
    String.raw`(${secretLabel}${between}(?:\[|\\{0,3}["']?(?:(?:bearer|basic|digest)\s{1,3})?))`,
    String.raw`(?:(?<=${sign}\[)[^\]]+`,
    String.raw`|(?<=${sign}\\{0,3}")(?:\\.|[^"\\])+|(?<=${sign}\\{0,3}')(?:\\.|[^'\\])+|[^\s"',;&]+)`,
  ].join(''),
  'gi',
);

/** Headers whose secrets contain spaces. */
const headerSecret = new RegExp(
  String.raw`((?:cookie${between}|authorization${between}["']?digest\s)\s{0,3})(?:"(?:\\.|[^"\\])+|.+)`,
  'gi',
);

/**
 * Values of variables with a sensitive name, and passwords in others. The longest come first, because one may contain
 * another.
 */
function secretsIn(env: readonly string[]): readonly string[] {
  const secrets = env.flatMap((variable) => {
    const separator = variable.indexOf('=');
    const [name, value] = [variable.slice(0, separator), variable.slice(separator + 1)];
    if (separator > 0 && secretName.test(name)) return [value, ...value.split(/\r?\n/)];
    return [...value.slice(0, maxValueLength).matchAll(/:\/\/[^\s/@:]{0,256}:([^\s/]+)@/g)].flatMap(
      ([, password = '']) => [password, ...password.split('@', 1)],
    );
  });
  return [...new Set(secrets)].filter(({ length }) => length >= 4).toSorted((one, other) => other.length - one.length);
}

/**
 * Text of a service that received these secrets, with `***` in place of each: as it is in any letter case, URL-encoded,
 * or in base64, also behind a user name. Where the text was cut (`…`), the beginning of a secret is hidden too.
 */
export function withoutSecrets(words: string, secrets: Iterable<string>): string {
  const longestFirst = [...new Set(secrets)].toSorted((one, other) => other.length - one.length);
  let shown = words;
  for (const secret of longestFirst) if (secret !== '') shown = withoutSecret(shown, secret);
  return shown;
}

function withoutSecret(words: string, secret: string): string {
  const texts = [words, decoded(words)].map((text) => text.toLowerCase());
  const isIn = texts.some((text) => text.includes(secret.toLowerCase()));
  let shown = isIn ? words.replace(inAnyEncoding(secret), hidden) : words;
  if (secret.length < minEncodedLength) return shown;
  const forms = secret.length < words.length ? formsInBase64(secret) : [];
  // The base64 text around the secret shows parts of its first and last letters.
  if (forms.length > 0)
    shown = shown.replaceAll(base64Run, (run) => (forms.some((form) => run.includes(form)) ? hidden : run));
  return shown.endsWith('…') ? withoutCutSecret(shown, secret) : shown;
}

/** A shorter secret has forms that occur in any sentence, so it is hidden as it is only. */
const minEncodedLength = 4;

const base64Run = /[\w+/-]{4,}={0,2}/g;

/** Each character as it is or URL-encoded. */
function inAnyEncoding(secret: string): RegExp {
  const characters = Array.from(secret, (character) => {
    const literal = character.replace(/[\\^$.*+?()[\]{}|/-]/, String.raw`\$&`);
    return `(?:${inHex(character).replaceAll(/../g, '%$&')}|${literal})`;
  });
  return new RegExp(characters.join(''), 'gi');
}

function inHex(text: string): string {
  return [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** In both alphabets, with the digits that depend on the secret alone: another text may precede and follow it. */
function formsInBase64(secret: string): readonly string[] {
  const bytes = new TextEncoder().encode(secret);
  return [0, 1, 2]
    .map((before) => base64Within(bytes, before))
    .flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
}

/** `before`: the offset within a group of three bytes. */
function base64Within(bytes: Uint8Array, before: number): string {
  const padded = [...Array.from<number>({ length: before }).fill(0), ...bytes];
  const text = btoa(padded.map((byte) => String.fromCodePoint(byte)).join('')).replaceAll('=', '');
  const isCut = padded.length % 3 !== 0;
  return text.slice(Math.ceil((before * 4) / 3), isCut ? -1 : undefined);
}

/** The end of a text may be the beginning of a secret. */
function withoutCutSecret(words: string, secret: string): string {
  const text = words.slice(0, -1);
  const [shown, whole] = [text.toLowerCase(), secret.toLowerCase()];
  for (let length = Math.min(whole.length, shown.length); length >= minEncodedLength; length -= 1)
    if (shown.endsWith(whole.slice(0, length))) return `${text.slice(0, -length)}${hidden}…`;
  return words;
}

function decoded(words: string): string {
  return words.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
    try {
      return decodeURIComponent(run);
    } catch {
      return run;
    }
  });
}
