import { printable } from './printable.ts';

/**
 * The end of a container's log, safe to print: at most 50 lines of 500 characters. Values of secret environment
 * variables, passwords in URLs and text after words like `password` or `token` are hidden. Other secrets in a log
 * cannot be recognised.
 */
export function logTail(log: string, env: readonly string[]): string {
  const lines = hideSecrets(log, env).split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines
    .slice(-mostLines)
    .map((line) => `${printable(line, longestLine)}\n`)
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
  return [...new Set([found ?? last, last])].map((line) => cutTo(line.trim(), longestTelltale));
}

function cutTo(line: string, max: number): string {
  return line.length <= max ? line : `${line.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

const longestTelltale = 300;
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
  const read = line.slice(0, longestRead);
  const shown = line.length > longestRead ? read.replace(cutPassword, `$1${hidden}`) : read;
  const masked = `$1${hidden}`;
  return shown.replace(passwordInUrl, masked).replace(headerSecret, masked).replace(labelledSecret, masked);
}

const hidden = '***';
const mostLines = 50;
const longestLine = 500;

/** The rest of a value without a sensitive name is not searched for URLs. */
const longestValue = 32_768;

/** The rest of a line is not read, so that no line takes long. */
const longestRead = 2000;

const secretName = /pass(?:word|wd|phrase)?$|pwd$|secret|token|credential|api_?key|private_?key|access_?key/i;

/** A password ends with the last `@` before the path of the URL, because it may contain others. */
const passwordInUrl = /([a-z][a-z\d+.-]{0,20}:\/\/[^\s/@:]{0,256}:)[^\s/]+(?=@)/gi;

/** A password whose end was cut off with the rest of its line. */
const cutPassword = /(:\/\/[^\s/@:]{0,256}:)[^\s/]+$/;

/** A quoted secret ends with its quote, any other one at a space or separator. */
const labelledSecret =
  /((?:pass(?:word|wd|phrase)?|pwd|secret|token|credentials?|(?:api|access|private|secret)[_-]?key|authorization)\\{0,3}["']?\s{0,3}[=:]\s{0,3}\\{0,3}["']?(?:(?:bearer|basic|digest)\s{1,3})?)(?:(?<=[=:]\s{0,3}\\{0,3}")(?:\\.|[^"\\])+|(?<=[=:]\s{0,3}\\{0,3}')(?:\\.|[^'\\])+|[^\s"',;&]+)/gi;

/** Headers whose secrets contain spaces. */
const headerSecret =
  /((?:cookie["']?\s{0,3}[=:]|authorization["']?\s{0,3}[=:]\s{0,3}["']?digest\s)\s{0,3})(?:"(?:\\.|[^"\\])+|.+)/gi;

/**
 * Values of variables with a sensitive name, and passwords in others. The longest come first, because one may contain
 * another.
 */
function secretsIn(env: readonly string[]): readonly string[] {
  const secrets = env.flatMap((variable) => {
    const separator = variable.indexOf('=');
    const [name, value] = [variable.slice(0, separator), variable.slice(separator + 1)];
    if (separator > 0 && secretName.test(name)) return [value, ...value.split(/\r?\n/)];
    return [...value.slice(0, longestValue).matchAll(/:\/\/[^\s/@:]{0,256}:([^\s/]+)@/g)].flatMap(
      ([, password = '']) => [password, ...password.split('@', 1)],
    );
  });
  return [...new Set(secrets)].filter(({ length }) => length >= 4).toSorted((one, other) => other.length - one.length);
}
