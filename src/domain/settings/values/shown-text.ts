import { quoted } from '../../text/printable.ts';

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

const hidden = '***';

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
