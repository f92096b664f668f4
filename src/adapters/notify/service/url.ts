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
  if (text.length > maxUrl) throw new InvalidUrlError('it', `is longer than ${maxUrl} characters`);
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
const maxUrl = 16_384;

const escapeHint =
  'cannot be read; in a user name or password write / as %2F, # as %23, ? as %3F, % as %25 and a space as %20';

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Why a URL cannot be used: the wrong part, and the reason. It contains no value of the URL, because any may be a
 * secret.
 */
export class InvalidUrlError extends Error {
  override readonly name = 'InvalidUrlError';

  constructor(part: string, why: string) {
    super(`${part} ${why}`);
  }
}

/** `host:port` of a server that the user runs. Throws if it is not a valid host. */
export function serverOf(parts: UrlParts, defaultPort = ''): string {
  const { host, port } = parts;
  if (host === '') throw new InvalidUrlError('the host', 'is missing');
  const server = authorityOf({ host, port: port === '' ? defaultPort : port });
  if (!URL.canParse(`https://${server}/`)) throw new InvalidUrlError('the host', 'is no host name');
  return server;
}

/** Host and port of a server without HTTP; an IPv6 address has no brackets. Throws if it is not a valid host. */
export function endpointOf(parts: UrlParts, defaultPort: number): { readonly host: string; readonly port: number } {
  serverOf(parts);
  return { host: parts.host.replaceAll(/[[\]]/g, ''), port: parts.port === '' ? defaultPort : Number(parts.port) };
}

export function required(value: string | undefined, part: string): string {
  if (value === undefined || value === '') throw new InvalidUrlError(part, 'is missing');
  return value;
}

export function requiredMatch(value: string | undefined, pattern: RegExp, part: string): string {
  const found = required(value, part);
  if (!pattern.test(found)) throw new InvalidUrlError(part, 'is not of the form that the service gives out');
  return found;
}

/** Joins whole segments, each encoded. */
export function pathOf(segments: readonly string[]): string {
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join('');
}

/**
 * Turns a plain web address into the URL of its service. Webhooks of Discord, Slack, Teams and Google Chat are
 * recognised by their hosts; other addresses get the plain message. Other URLs stay as they are.
 */
export function toServiceUrl(text: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return text;
  const url = new URL(text);
  for (const read of url.protocol === 'https:' ? known : []) {
    const found = read(url);
    if (found !== undefined) return found;
  }
  return `generic+${text}`;
}

type Recognition = (url: URL) => string | undefined;

const known: readonly Recognition[] = [discord, slack, teams, googleChat];

/** https://discord.com/developers/docs/resources/webhook#execute-webhook */
function discord({ hostname, pathname, search }: URL): string | undefined {
  if (!/^(?:(?:ptb|canary)\.)?discord(?:app)?\.com$/.test(hostname)) return undefined;
  const [, id, token] = /^\/api(?:\/v\d+)?\/webhooks\/(\d+)\/([\w-]+)\/?$/.exec(pathname) ?? [];
  return id === undefined ? undefined : `discord://${token}@${id}${search}`;
}

/** https://api.slack.com/messaging/webhooks */
function slack({ hostname, pathname }: URL): string | undefined {
  const [, a, b, c] = /^\/services\/(\w+)\/(\w+)\/(\w+)\/?$/.exec(pathname) ?? [];
  return hostname !== 'hooks.slack.com' || a === undefined ? undefined : `slack://hook:${a}-${b}-${c}@webhook`;
}

function teams(url: URL): string | undefined {
  return isWorkflow(url) ? `teams://?host=${encodeURIComponent(url.href)}` : undefined;
}

/**
 * Whether the address belongs to a Power Automate workflow:
 * https://learn.microsoft.com/power-automate/triggers-introduction
 */
export function isWorkflow({ protocol, hostname, pathname }: URL): boolean {
  if (protocol !== 'https:') return false;
  if (/\.logic\.azure\.[a-z]+$/.test(hostname)) return pathname.includes('/workflows/');
  const isPlatform = hostname.endsWith('.environment.api.powerplatform.com');
  return isPlatform && /\/powerautomate\/automations\/direct\/.*workflows\//.test(pathname);
}

/** https://developers.google.com/workspace/chat/quickstart/webhooks */
function googleChat({ hostname, host, pathname, search }: URL): string | undefined {
  const isChat = hostname === 'chat.googleapis.com' && pathname.startsWith('/v1/spaces/');
  return isChat ? `googlechat://${host}${pathname}${search}` : undefined;
}
