import { InvalidUrlError } from './invalid-url-error.ts';

/** The parts of a notification URL. All but `path` are decoded; absent parts are empty. */
export type UrlParts = {
  /** In lower case, without a `+` and the text after it. */
  readonly scheme: string;
  /** `https` of `generic+https`. */
  readonly variant: string;
  readonly user: string;
  readonly password: string;
  /** Without the port; an IPv6 address is in brackets. */
  readonly host: string;
  readonly port: string;
  /** The path, not decoded, with its first slash. */
  readonly path: string;
  /** The segments of the path that are not empty. */
  readonly segments: readonly string[];
  readonly query: readonly (readonly [key: string, value: string])[];
  readonly fragment: string;
};

/**
 * Parses URLs like Shoutrrr, which uses Go's `url.Parse`: https://pkg.go.dev/net/url#Parse. A malformed escape stays as
 * it is. Throws an `InvalidUrlError`.
 */
export function readParts(text: string): UrlParts {
  const [, scheme = '', variant = ''] = /^([a-z][a-z0-9.-]*)(?:\+([a-z0-9]+))?:\/\//i.exec(text) ?? [];
  if (scheme === '') throw new InvalidUrlError('it', 'is no URL of the form service://…');
  if (text.length > longestUrl) throw new InvalidUrlError('it', `is longer than ${longestUrl} characters`);
  if (!URL.canParse(text)) throw new InvalidUrlError('it', escapeHint);
  const url = new URL(text);
  return {
    scheme: scheme.toLowerCase(),
    variant: variant.toLowerCase(),
    user: decode(url.username),
    password: decode(url.password),
    host: decode(url.hostname),
    port: url.port,
    path: url.pathname,
    segments: url.pathname
      .split('/')
      .filter((segment) => segment !== '')
      .map(decode),
    query: [...new URLSearchParams(url.search)],
    fragment: decode(url.hash.slice(1)),
  };
}

/** `host:port` as in a URL; without the port if there is none. */
export function authorityOf({ host, port }: Pick<UrlParts, 'host' | 'port'>): string {
  return port === '' ? host : `${host}:${port}`;
}

/** Longer texts are not addresses, and each URL is kept in memory. */
const longestUrl = 16_384;

const escapeHint =
  'cannot be read; in a user name or password write / as %2F, # as %23, ? as %3F, % as %25 and a space as %20';

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
