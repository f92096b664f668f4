import type { IncomingMessage } from 'node:http';
import { BlockList } from 'node:net';
import {
  formatIpAddress,
  parseIpAddress,
  parseOriginPattern,
  readAddressList,
  type AddressList,
  type HttpSettings,
} from '../../../domain/settings/http-settings.ts';
import type { Person } from '../../../domain/access/rights.ts';
import type { Log } from '../../../domain/outside/outside.ts';
import { printable } from '../../../domain/text/printable.ts';

/** Client of a request, direct or behind trusted proxies. */
export type Client = {
  /** Its IP address in canonical form; empty for a socket without one. */
  readonly address: string;
  readonly scheme: 'http' | 'https';
};

/**
 * The socket's peer, or behind a trusted proxy the last address in its header that is not a trusted proxy, and the
 * scheme that the proxy reports. Headers of other clients are ignored, and so are unreadable values.
 */
export function createClientReader(
  settings: Pick<HttpSettings, 'trustedProxies' | 'proxyHeader'>,
): (request: IncomingMessage) => Client {
  const trusted = readAddressList(settings.trustedProxies, new BlockList());
  const header = settings.proxyHeader.toLowerCase();
  if (trusted.isEmpty) return (request) => ({ address: peerOf(request), scheme: ownScheme(request) });

  return (request) => {
    const peer = peerOf(request);
    if (!trusted.contains(peer)) return { address: peer, scheme: ownScheme(request) };
    return {
      address: firstUntrusted(textOf(request.headers[header]), trusted) ?? peer,
      scheme: forwardedScheme(textOf(request.headers['x-forwarded-proto'])) ?? ownScheme(request),
    };
  };
}

/**
 * The person whom a trusted proxy names in its header. Nobody else is believed, and neither is a header that comes twice:
 * a proxy that adds its own to the client's must not make the client someone.
 */
export function createPersonReader({
  trustedProxies,
  authHeader,
}: Pick<HttpSettings, 'trustedProxies' | 'authHeader'>): (request: IncomingMessage) => Person | undefined {
  const trusted = readAddressList(trustedProxies, new BlockList());
  if (authHeader === undefined || trusted.isEmpty) return () => undefined;
  return (request) => {
    if (request.headers[authHeader.user] === undefined || !trusted.contains(peerOf(request))) return undefined;
    const name = onlyValue(request, authHeader.user);
    if (name === undefined) return undefined;
    const groups = (onlyValue(request, authHeader.groups) ?? '').split(/[,|;]/).map((group) => group.trim());
    return {
      name,
      ...(name.includes('@') && { email: name }),
      groups: groups.filter((group) => group !== ''),
      from: 'header',
    };
  };
}

/**
 * The address of this service as the browser knows it: the `Host` of the request, or what a trusted proxy reports.
 * Undefined for an unreadable one. A trusted proxy that removes a sub-path may report it as `X-Forwarded-Prefix`.
 */
export function createOriginReader(
  settings: Pick<HttpSettings, 'trustedProxies' | 'proxyHeader'>,
): (request: IncomingMessage) => string | undefined {
  const readClient = createClientReader(settings);
  const trusted = readAddressList(settings.trustedProxies, new BlockList());
  return (request) => {
    const { host: own = '', 'x-forwarded-host': reported, 'x-forwarded-prefix': prefixes } = request.headers;
    const isByProxy = trusted.contains(peerOf(request));
    const [host = ''] = (isByProxy && textOf(reported) !== '' ? textOf(reported) : own).split(',', 1);
    const prefix = (isByProxy ? textOf(prefixes) : '').replace(/\/+$/, '');
    const origin = `${readClient(request).scheme}://${host.trim()}`;
    if (parseOriginPattern(origin)?.kind !== 'exact' || !/^(?:\/[\w.~-]+)*$/.test(prefix)) return undefined;
    return origin + prefix;
  };
}

/** Node decodes headers with one character for each byte. */
function onlyValue({ headersDistinct }: IncomingMessage, name: string): string | undefined {
  const [value, ...others] = headersDistinct[name] ?? [];
  const text = Buffer.from(value ?? '', 'latin1')
    .toString()
    .trim();
  return others.length > 0 || text === '' || text.length > maxName ? undefined : printable(text, maxName);
}

const maxName = 2000;

/**
 * Warns of a proxy that is not trusted, once for each: its clients share one rate limit, and the scheme is not known.
 * Anyone can send these headers, so the number of warnings is bounded.
 */
export function createProxyWarning(
  settings: Pick<HttpSettings, 'trustedProxies' | 'proxyHeader'>,
  log: Log,
): (request: IncomingMessage) => void {
  const trusted = readAddressList(settings.trustedProxies, new BlockList());
  const headers = [settings.proxyHeader.toLowerCase(), ...proxyHeaders];
  const told = new Set<string>();
  return (request) => {
    if (told.size >= maxWarnings) return;
    const header = headers.find((name) => request.headers[name] !== undefined);
    if (header === undefined) return;
    const peer = peerOf(request);
    if (peer === '' || told.has(peer) || trusted.contains(peer)) return;
    told.add(peer);
    log.warn('Requests come through a proxy that is not trusted: all its clients share one rate limit', {
      proxy: peer,
      header,
      remedy: `--http-api-trusted-proxies ${[...settings.trustedProxies, peer].join(',')}`,
    });
  };
}

const maxWarnings = 10;

/** https://www.rfc-editor.org/rfc/rfc7239, and the headers that it was made from. */
const proxyHeaders = ['x-forwarded-for', 'x-real-ip', 'forwarded', 'x-forwarded-host', 'x-forwarded-proto'];

function peerOf({ socket }: IncomingMessage): string {
  const { remoteAddress = '' } = socket;
  if (!remoteAddress.includes(':')) return remoteAddress;
  const address = parseIpAddress(remoteAddress);
  return address === undefined ? remoteAddress : formatIpAddress(address);
}

function ownScheme({ socket }: IncomingMessage): Client['scheme'] {
  return 'encrypted' in socket && socket.encrypted === true ? 'https' : 'http';
}

function textOf(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : (value ?? []).join(',');
}

/**
 * Read from the right, because each proxy appends the address of its client. If all are trusted, the first one counts.
 */
function firstUntrusted(chain: string, trusted: AddressList): string | undefined {
  let last: string | undefined;
  for (const hop of chain.split(',').toReversed()) {
    const address = parseIpAddress(withoutPort(hop.trim()));
    if (address === undefined) return undefined;
    last = formatIpAddress(address);
    if (!trusted.contains(last)) return last;
  }
  return last;
}

/** Some proxies write `192.0.2.1:4711` or `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([^:]*):\d+$/.exec(hop)?.[1] ?? hop;
}

function forwardedScheme(value: string): Client['scheme'] | undefined {
  const scheme = value.split(',')[0]?.trim().toLowerCase();
  return scheme === 'http' || scheme === 'https' ? scheme : undefined;
}
