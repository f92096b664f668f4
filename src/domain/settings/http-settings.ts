/** Settings of the HTTP API, and who may reach it: origins, tokens, addresses, sessions. */

import { readRights, type PeopleLists, type Person, type Rights } from '../access/rights.ts';
import { isJsonObject, isWholeNumber } from '../text/json.ts';
import { putNewest } from '../text/plain-data.ts';
import { printable } from '../text/printable.ts';

/** The groups of endpoints, by the names that users give. */
export const endpointGroups = [
  'health',
  'update',
  'metrics',
  'containers',
  'check',
  'history',
  'decisions',
  'images',
  'config',
  'events',
  'swagger',
  'dashboard',
  'webhooks',
  'compat',
] as const;

/** Parts of the HTTP interface that are switched on by name. */
export type EndpointGroup = (typeof endpointGroups)[number];

/** Settings of the HTTP API, named like their options. */
export type HttpSettings = {
  /** Undefined: all interfaces of the machine. */
  readonly host: string | undefined;
  /** 0: a free port. */
  readonly port: number;
  /** Empty: no API. */
  readonly groups: readonly EndpointGroup[];
  readonly token: TokenSource | undefined;
  readonly eventsToken: TokenSource | undefined;
  /** The secrets of registries that send webhooks. Undefined: their endpoint is off. */
  readonly webhookSecret: TokenSource | undefined;
  /** Whether a webhook also asks for an update, as `POST /v1/update?image=` does. */
  readonly webhookUpdate: boolean;
  /** Requests a client may make in any 60 seconds. */
  readonly rateLimit: number;
  /** The same for a session of the page. */
  readonly sessionRateLimit: number;
  /** A file with the scrypt hash of a password. Undefined: none. */
  readonly passwordFile: string | undefined;
  /** The files of `token` and `eventsToken` that the first start makes, because none was given. */
  readonly madeTokens: readonly string[];
  readonly checkTimeoutMs: number;
  readonly updateTimeoutMs: number;
  /** Undefined: plain HTTP. */
  readonly tls: TlsFiles | undefined;
  /** Addresses and CIDR ranges. Empty: proxy headers are ignored. */
  readonly trustedProxies: readonly string[];
  readonly proxyHeader: string;
  /** Origins, also patterns such as `https://*.example.com`, or `*`. Empty: CORS is off. */
  readonly corsOrigins: readonly string[];
  /** True if `GET /v1/update` acts like POST. */
  readonly watchtowerCompat: boolean;
  /** The path in front of all others, such as `/upkeep`, which a request may have or not. Empty: none. */
  readonly basePath: string;
  /** Whether each container has metrics of its own. */
  readonly containerMetrics: boolean;
  /** The people who may come in by `authHeader` or `oidc`. */
  readonly people: PeopleLists;
  /** The headers in which a trusted proxy names the person of a request, in lower case. */
  readonly authHeader: { readonly user: string; readonly groups: string } | undefined;
  readonly oidc: OidcSettings | undefined;
};

/** The issuer that people sign in at: https://openid.net/specs/openid-connect-core-1_0.html */
export type OidcSettings = {
  readonly issuer: string;
  readonly clientId: string;
  /** Absent: a public client, which has only PKCE. */
  readonly clientSecret: TokenSource | undefined;
  readonly scopes: readonly string[];
  /** Undefined: from the address of the request. */
  readonly redirectUrl: string | undefined;
  /** The claim with the groups of a person; `realm_access.roles` is a field of another. */
  readonly groupsClaim: string;
};

/** A token file is read at each use, so that a rotated secret needs no restart. */
export type TokenSource =
  | { readonly kind: 'value'; readonly value: string }
  | { readonly kind: 'file'; readonly path: string };

export type TlsFiles = { readonly certFile: string; readonly keyFile: string };

/** The origins of web pages that are allowed: one, all subdomains of one (`https://*.example.com`), or all. */
type OriginPattern =
  | { readonly kind: 'any' }
  | { readonly kind: 'exact'; readonly origin: string }
  | { readonly kind: 'subdomains'; readonly scheme: string; readonly domain: string; readonly port: string };

/**
 * Undefined if the text is not an origin: https://www.rfc-editor.org/rfc/rfc6454#section-7. Names of containers may
 * have underscores, and browsers open them.
 */
export function parseOriginPattern(text: string): OriginPattern | undefined {
  if (text === '*') return { kind: 'any' };
  const [, scheme = '', wildcard, host = '', port = ''] =
    /^(https?):\/\/(\*\.)?(\w(?:[\w.-]*\w)?|\[[\da-f:.]+\])(?::(\d{1,5}))?\/?$/i.exec(text) ?? [];
  if (scheme === '' || host.includes('..') || Number(port) > 65_535) return undefined;
  const normal = { scheme: scheme.toLowerCase(), port: port === defaultPorts[scheme.toLowerCase()] ? '' : port };
  const domain = host.toLowerCase();
  if (wildcard !== undefined) return domain.startsWith('[') ? undefined : { kind: 'subdomains', domain, ...normal };
  return { kind: 'exact', origin: print(normal.scheme, domain, normal.port) };
}

/** Whether the `Origin` of a request is allowed. `null` and malformed origins are allowed only with `*`. */
export function isAllowedOrigin(origin: string, patterns: readonly OriginPattern[]): boolean {
  const given = parseOriginPattern(origin);
  return patterns.some((pattern) => {
    if (pattern.kind === 'any') return true;
    if (given?.kind !== 'exact') return false;
    if (pattern.kind === 'exact') return pattern.origin === given.origin;
    const { scheme, domain, port } = pattern;
    const [start, end] = [`${scheme}://`, `.${print('', domain, port).slice('://'.length)}`];
    return (
      given.origin.startsWith(start) && given.origin.endsWith(end) && given.origin.length > start.length + end.length
    );
  });
}

const defaultPorts: Readonly<Record<string, string>> = { http: '80', https: '443' };

function print(scheme: string, host: string, port: string): string {
  return `${scheme}://${host}${port === '' ? '' : `:${port}`}`;
}

/** A token of the HTTP API. `name` is its holder, if the file names one; `rights` are all without a written role. */
export type NamedToken = { readonly name: string | undefined; readonly token: string; readonly rights?: Rights };

/** `why` names the line, and never has content of the file. */
type ReadTokens =
  | { readonly kind: 'tokens'; readonly tokens: readonly NamedToken[] }
  | { readonly kind: 'refused'; readonly why: string };

/**
 * The tokens in the text of a token file: one alone, or a line `NAME: TOKEN` for each holder, or with rights
 * `NAME: TOKEN operator, image=acme/*`. A line that begins with `#` is a comment. A token contains no space, so the space after the colon distinguishes the two:
 * https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
export function readTokens(text: string): ReadTokens {
  const lines = text
    .split(/\r\n?|\n/)
    .map((line, index) => ({ text: line.trim(), number: index + 1 }))
    .filter((line) => line.text !== '');
  const written = lines.filter((line) => !line.text.startsWith('#'));
  if (written.length === 0) {
    const why = 'the file has no token';
    return { kind: 'refused', why: lines.length === 0 ? why : `${why}: each of its lines is a comment` };
  }
  const tokens: NamedToken[] = [];
  const lineOf = new Map<string, number>();
  for (const { text: line, number } of written) {
    const read = tokens.length === maxTokens ? tooMany : readLine(line, written.length === 1);
    if (typeof read === 'string') return { kind: 'refused', why: `line ${number} ${read}` };
    // Only one of both names, with its rights, could count.
    const former = lineOf.get(read.token);
    if (former !== undefined) return { kind: 'refused', why: `line ${number} has the same token as line ${former}` };
    lineOf.set(read.token, number);
    tokens.push(read);
  }
  return { kind: 'tokens', tokens };
}

/** The secret of a client, of a file with nothing else. What looks like more would be refused at each sign-in only. */
export function readClientSecret(
  text: string,
): { readonly kind: 'secret'; readonly secret: string } | { readonly kind: 'refused'; readonly why: string } {
  const secret = text.trim();
  if (secret === '') return { kind: 'refused', why: 'the file is empty' };
  if (/\s/.test(secret)) return { kind: 'refused', why: 'it has a space, a name or a second line beside the secret' };
  if (/^(["'`]).*\1$/.test(secret)) return { kind: 'refused', why: 'it has quotes around the secret' };
  return { kind: 'secret', secret };
}

/** Each request is compared with all tokens. */
const maxTokens = 100;
const tooMany = `is one token more than the ${maxTokens} that are possible`;

/** A token, or the end of a sentence about the line. */
function readLine(line: string, isOnly: boolean): NamedToken | string {
  const [, name, token, words] = /^([^:]+):(?:\s+(\S*)(?:\s+(.*))?)?$/s.exec(line) ?? [];
  if (name === undefined) {
    if (!isOnly) return unnamed;
    const [, behind = ''] = /\s(.+)$/s.exec(line) ?? [];
    return behind !== '' && typeof readRights(behind.trim()) !== 'string'
      ? unnamedRole
      : { name: undefined, token: line };
  }
  if (token === undefined || token.startsWith('#')) return 'has a name without a token';
  if (typeof readRights(token.replace(/,$/, '')) !== 'string') return 'has a role without a token before it';
  const rights = words === undefined ? undefined : readRights(words);
  if (typeof rights === 'string') return rights;
  const why = whyNoToken(token);
  if (why !== undefined) return why;
  return namePattern.test(name) ? { name, token, ...(rights && { rights }) } : badName;
}

/** A comment, a filter or a placeholder after a name is no token: it can be guessed. */
function whyNoToken(token: string): string | undefined {
  if (!/^[\x21-\x7e]+$/.test(token)) return 'has a token with a space, or with a character outside ASCII';
  if (!/[a-z\d]/i.test(token)) return 'has a token without a letter or digit';
  return /^(?:\/\/|;|image=|container=)/i.test(token)
    ? 'has a comment or a filter where its token should be'
    : undefined;
}

const unnamed = 'is not NAME: TOKEN, as each line of several has to be';
const unnamedRole = 'has a role or a filter, and is not NAME: TOKEN before it';
const namePattern = /^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,49}$/u;
const badName = 'has a name that is not 1 to 50 letters, digits, spaces or . _ @ -';

/** An IPv4 or IPv6 address as a number; an IPv4 address written inside an IPv6 one (`::ffff:10.0.0.1`) is IPv4. */
type IpAddress = { readonly bits: 32 | 128; readonly value: bigint };

/** An address or a range such as `10.0.0.0/8`. */
type IpRange = { readonly address: IpAddress; readonly prefix: number };

/** Undefined for any text but one address. A zone (`fe80::1%eth0`) is dropped. */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (text.length > maxAddressLength) return undefined;
  const v4 = parseV4(text);
  if (v4 !== undefined) return { bits: 32, value: v4 };
  const v6 = parseV6(text.replace(/%[\w.-]+$/, ''));
  if (v6 === undefined) return undefined;
  return v6 >> 32n === mappedV4 ? { bits: 32, value: v6 & 0xffff_ffffn } : { bits: 128, value: v6 };
}

/** Undefined for any text but an address or a range in CIDR notation: https://www.rfc-editor.org/rfc/rfc4632 */
export function parseIpRange(text: string): IpRange | undefined {
  const [before = '', after, ...rest] = text.split('/');
  const address = parseIpAddress(before);
  if (address === undefined || rest.length > 0) return undefined;
  if (after === undefined) return { address, prefix: address.bits };
  const prefix = /^\d{1,3}$/.test(after) ? Number(after) - (isMapped(before, address) ? 96 : 0) : -1;
  return prefix >= 0 && prefix <= address.bits ? { address, prefix } : undefined;
}

/** A set of ranges of IP addresses. */
export type AddressList = { readonly isEmpty: boolean; readonly contains: (address: string) => boolean };

/** Reads addresses and CIDR ranges of both families into a `BlockList` of Node. Other entries are ignored. */
export function readAddressList(entries: readonly string[], list: RangeList): AddressList {
  const ranges = entries.flatMap((entry) => parseIpRange(entry) ?? []);
  for (const { address, prefix } of ranges) list.addSubnet(formatIpAddress(address), prefix, familyOf(address));
  return {
    isEmpty: ranges.length === 0,
    contains(text) {
      const address = parseIpAddress(text);
      return address !== undefined && list.check(formatIpAddress(address), familyOf(address));
    },
  };
}

type Family = 'ipv4' | 'ipv6';

type RangeList = {
  readonly addSubnet: (address: string, prefix: number, family: Family) => void;
  readonly check: (address: string, family: Family) => boolean;
};

function familyOf({ bits }: IpAddress): Family {
  return bits === 32 ? 'ipv4' : 'ipv6';
}

/** The canonical text of an address: https://www.rfc-editor.org/rfc/rfc5952 */
export function formatIpAddress({ bits, value }: IpAddress): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
  const groups = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16));
  const [start, length] = longestRunOfZeros(groups);
  if (length < 2) return groups.join(':');
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + length).join(':')}`;
}

/** Eight groups of four, or six and a dotted address, and a zone. */
const maxAddressLength = 80;

/** The first 96 bits of `::ffff:0:0/96`: https://www.rfc-editor.org/rfc/rfc4291#section-2.5.5.2 */
const mappedV4 = 0xffffn;

function isMapped(text: string, { bits }: IpAddress): boolean {
  return bits === 32 && text.includes(':');
}

function parseV4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)) {
    return undefined;
  }
  let value = 0n;
  for (const part of parts) value = (value << 8n) | BigInt(part);
  return value;
}

function parseV6(text: string): bigint | undefined {
  const [head = '', tail, ...rest] = text.split('::');
  if (rest.length > 0) return undefined;
  const left = groupsOf(head, tail === undefined);
  const right = tail === undefined ? [] : groupsOf(tail, true);
  if (left === undefined || right === undefined) return undefined;
  const missing = 8 - left.length - right.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  let value = 0n;
  for (const group of [...left, ...Array.from({ length: missing }, () => 0n), ...right]) value = (value << 16n) | group;
  return value;
}

/** A dotted address may replace the last two groups. */
function groupsOf(text: string, isLast: boolean): readonly bigint[] | undefined {
  if (text === '') return [];
  const parts = text.split(':');
  const dotted = isLast ? parseV4(parts.at(-1) ?? '') : undefined;
  const plain = dotted === undefined ? parts : parts.slice(0, -1);
  if (!plain.every((part) => /^[\da-f]{1,4}$/i.test(part))) return undefined;
  const groups = plain.map((part) => BigInt(`0x${part}`));
  return dotted === undefined ? groups : [...groups, dotted >> 16n, dotted & 0xffffn];
}

function longestRunOfZeros(groups: readonly string[]): readonly [start: number, length: number] {
  let best: readonly [number, number] = [0, 0];
  for (let start = 0; start < groups.length; start += 1) {
    let end = start;
    while (groups[end] === '0') end += 1;
    if (end - start > best[1]) best = [start, end - start];
  }
  return best;
}

/** A signed-in browser. Nothing in it lets anyone in: it has only hashes of its cookie. */
export type SessionRecord = {
  readonly id: string;
  /** Of the cookie in use, and of the one before it until the browser has taken the new one over. */
  readonly keys: readonly SessionKey[];
  /** The name of the token or person, or `password`. Absent: the token has no name. */
  readonly by?: string;
  /** The person whom the issuer has named. Absent: it was exchanged for a token or password. */
  readonly person?: SessionPerson;
  readonly browser: string;
  readonly address: string;
  readonly sinceMs: number;
  readonly usedMs: number;
  /** Whether it outlives the browser. */
  readonly isKept: boolean;
  /** Whether the cookie is sent over TLS only. */
  readonly isSecure: boolean;
};

/** The facts that decide the role of a person, as the issuer has told them at the sign-in. */
export type SessionPerson = Pick<Person, 'email' | 'groups'>;

/** Both in hex. `credential` binds the session to the token or password that it was exchanged for. */
export type SessionKey = { readonly hash: string; readonly credential: string };

/**
 * One stored change. `place`: the part of the cookie's name that tells services of one host apart. `revoked`: the hash of
 * a token that is no longer valid, although its file may still have it.
 */
export type SessionChange =
  | { readonly kind: 'session'; readonly session: SessionRecord }
  | { readonly kind: 'ended'; readonly id: string }
  | { readonly kind: 'place'; readonly name: string }
  | { readonly kind: 'revoked'; readonly token: string };

/** More than a household has browsers. The one that was renewed least recently is dropped. */
export const maxSessions = 100;

export function sessionsOf(changes: readonly SessionChange[]): ReadonlyMap<string, SessionRecord> {
  const sessions = new Map<string, SessionRecord>();
  for (const change of changes) {
    if (change.kind === 'ended') sessions.delete(change.id);
    if (change.kind === 'session') putNewest(sessions, change.session.id, change.session, maxSessions);
  }
  return sessions;
}

export function placeOf(changes: readonly SessionChange[]): string | undefined {
  return changes.findLast((change) => change.kind === 'place')?.name;
}

/** The hashes of revoked tokens, the newest thousand. */
export function revokedIn(changes: readonly SessionChange[]): readonly string[] {
  const hashes = changes.flatMap((change) => (change.kind === 'revoked' ? change.token : []));
  return [...new Set(hashes)].slice(-1000);
}

/** The smallest list of changes with the same result. */
export function compactSessions(changes: readonly SessionChange[]): readonly SessionChange[] {
  const name = placeOf(changes);
  return [
    ...(name === undefined ? [] : [{ kind: 'place', name } as const]),
    ...revokedIn(changes).map((token) => ({ kind: 'revoked', token }) as const),
    ...[...sessionsOf(changes).values()].map((session) => ({ kind: 'session', session }) as const),
  ];
}

/** Reads a record of the file. Undefined for any other value. */
export function readSessionChange(value: unknown): SessionChange | undefined {
  if (!isJsonObject(value)) return undefined;
  const { kind, id, name, token } = value;
  if (kind === 'revoked') return isHex(token) ? { kind, token } : undefined;
  if (kind === 'ended') return isHex(id) ? { kind, id } : undefined;
  if (kind === 'place') return isHex(name) ? { kind, name } : undefined;
  const session = kind === 'session' ? readSession(value['session']) : undefined;
  return session && { kind: 'session', session };
}

function readSession(value: unknown): SessionRecord | undefined {
  if (!isJsonObject(value)) return undefined;
  const { id, by, browser, address, sinceMs, usedMs, isKept, isSecure } = value;
  const person = value['person'] === undefined ? undefined : readPerson(value['person']);
  const keys = Array.isArray(value['keys']) ? value['keys'].flatMap((key) => readKey(key) ?? []) : [];
  if (!isHex(id) || keys.length === 0 || keys.length > 2 || !isWholeNumber(sinceMs) || !isWholeNumber(usedMs))
    return undefined;
  return {
    id,
    keys,
    ...(typeof by === 'string' && { by: printable(by, 200) }),
    ...(person !== undefined && { person }),
    browser: printable(typeof browser === 'string' ? browser : '', 200),
    address: printable(typeof address === 'string' ? address : '', 50),
    sinceMs,
    usedMs,
    isKept: isKept === true,
    isSecure: isSecure === true,
  };
}

/** A person in another form has no role: the session is then not that of a token. */
function readPerson(value: unknown): SessionPerson {
  if (!isJsonObject(value)) return { groups: [] };
  const { email, groups } = value;
  return {
    ...(typeof email === 'string' && { email }),
    groups: Array.isArray(groups) ? groups.filter((group) => typeof group === 'string') : [],
  };
}

function readKey(value: unknown): SessionKey | undefined {
  if (!isJsonObject(value)) return undefined;
  const { hash, credential } = value;
  return isHex(hash) && isHex(credential) ? { hash, credential } : undefined;
}

function isHex(value: unknown): value is string {
  return typeof value === 'string' && /^[\da-f]{8,64}$/.test(value);
}
