/**
 * A value of a setting for messages and lists, without the parts of it that hold secrets: the login, query and fragment
 * of an address, the value of a key such as `token=`, a key in PEM.
 */
export function withoutSecretParts(text: string): string {
  return text.includes('-----BEGIN ') ? hidden : withoutQuery(withoutLogin(text));
}

/**
 * True for a path that can be shown. The content of a file with secrets is none: it has lines, is JSON, or is one long
 * word of letters and digits.
 */
export function isPlainPath(text: string): boolean {
  return withoutSecretParts(text) === text && !/[\r\n{}]/.test(text) && !/^(?!~?\/|\.)[\w+/=-]{24,}$/.test(text);
}

/** For a text that is no plain path. */
export const pathRemedy = 'give the path of a file, not its content';

const hidden = '***';

/**
 * Everything before the last `@`, because a password may contain any character. The digest of an image and the plain user
 * of an SSH address stay.
 */
function withoutLogin(text: string): string {
  const [, before] = /^(.*)@(?!sha256:)/s.exec(text) ?? [];
  if (before === undefined) return text.replace(passwordAsPort, `$1${hidden}`);
  const at = before.indexOf('://');
  const scheme = at < 0 ? '' : before.slice(0, at + '://'.length);
  const login = before.slice(scheme.length);
  const isPlain = scheme === '' ? !login.includes(':') : /ssh:\/\/$/i.test(scheme) && /^[\w.-]*$/.test(login);
  return isPlain ? text : scheme + hidden + text.slice(before.length);
}

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
