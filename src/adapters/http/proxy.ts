import { ServiceError } from '../../domain/text/errors.ts';
import * as http from 'node:http';
import * as https from 'node:https';
import type { Duplex } from 'node:stream';
import { HttpFailure } from './failure.ts';
import { BlockList } from 'node:net';
import { readAddressList, type AddressList } from '../../domain/settings/http-settings.ts';

export type ProxyOptions = {
  /** URL of the proxy for `http:`, as in `HTTP_PROXY`. */
  readonly http?: string | undefined;
  /** URL of the proxy for `https:`, as in `HTTPS_PROXY`. */
  readonly https?: string | undefined;
  /** Entries of `NO_PROXY`. */
  readonly no?: readonly string[] | undefined;
};

/**
 * The proxy for a URL; undefined: a direct connection. The rules are the same as in the engine, so both use the same
 * route: https://pkg.go.dev/golang.org/x/net/http/httpproxy#Config. Throws `invalid-input` for a value that is
 * not the URL of an HTTP proxy.
 */
export function createProxyChoice({ http, https, no = [] }: ProxyOptions): (url: URL) => URL | undefined {
  const forHttp = readProxy('HTTP_PROXY', http);
  const forHttps = readProxy('HTTPS_PROXY', https);
  const isExempt = createExemptions(no);
  return function proxyFor(url) {
    const proxy = url.protocol === 'https:' ? forHttps : forHttp;
    return proxy === undefined || isExempt(url) ? undefined : proxy;
  };
}

/** The login in a proxy's URL as a header; empty without one. */
export function proxyAuthorization(proxy: URL): Readonly<Record<string, string>> {
  if (proxy.username === '' && proxy.password === '') return {};
  const login = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` };
}

/** The error never shows the value, which may contain a password. */
function readProxy(name: string, value: string | undefined): URL | undefined {
  const text = value?.trim() ?? '';
  if (text === '') return undefined;
  const full = /^[a-z0-9+.-]+:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw refuse(name, 'it is not the URL of an HTTP proxy', 'give it as http://[user:password@]host:port');
  if (!hasReadableLogin(url))
    throw refuse(name, 'its login has a % that encodes no character', 'write % as %25 in the user name and password');
  return url;
}

function hasReadableLogin(url: URL): boolean {
  try {
    proxyAuthorization(url);
    return true;
  } catch {
    return false;
  }
}

function refuse(name: string, why: string, remedy: string): ServiceError {
  return new ServiceError('invalid-input', `Cannot use the proxy of ${name}: ${why}`, { remedy });
}

function createExemptions(entries: readonly string[]): (url: URL) => boolean {
  const wanted = entries.map((entry) => entry.trim().toLowerCase()).filter((entry) => entry !== '');
  const ranges = createAddressList(wanted);
  const domains = wanted.map(readDomain);
  return function isExempt(url) {
    const { name } = splitHost(url.host);
    const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
    if (name === 'localhost' || loopback.contains(name) || ranges.contains(name)) return true;
    return domains.some((domain) => (domain.port === '' || domain.port === port) && domain.covers(name));
  };
}

type Domain = { readonly port: string; readonly covers: (name: string) => boolean };

/** `*` covers every host, `example.com` also its subdomains, `.example.com` and `*.example.com` only the subdomains. */
function readDomain(entry: string): Domain {
  if (entry === '*') return { port: '', covers: () => true };
  const { name, port } = splitHost(entry);
  if (name === '') return { port, covers: () => false };
  const below = name.replace(/^\*?\.?/, '.');
  const isOnlyBelow = name.startsWith('.') || name.startsWith('*.');
  return { port, covers: (host) => host.endsWith(below) || (!isOnlyBelow && host === name) };
}

/** An agent whose TLS connections go through a proxy: https://www.rfc-editor.org/rfc/rfc9110.html#section-9.3.6 */
export function createTunnelAgent(proxy: URL, deadlineMs: number, options: https.AgentOptions): https.Agent {
  const agent = new https.Agent(options);
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = function createConnection(target, callback) {
    // Node ignores the stream when there is an error.
    const answer = callback as ((error: unknown, stream?: Duplex | null) => void) | undefined;
    openTunnel(proxy, authorityOf(target.host ?? '', target.port), deadlineMs).then(
      // The request's options reach `tls.connect` unchanged, and it uses the given socket.
      (socket) => answer?.(null, connect({ ...target, socket } as https.RequestOptions)),
      (error: unknown) => answer?.(error),
    );
    return undefined;
  };
  return agent;
}

/** An IPv6 address needs brackets before its port. */
function authorityOf(host: string, port: string | number | null | undefined): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function openTunnel(proxy: URL, target: string, deadlineMs: number): Promise<Duplex> {
  const { request } = proxy.protocol === 'https:' ? https : http;
  const host = proxy.hostname.replaceAll(/[[\]]/g, '');
  return new Promise((resolve, reject) => {
    const asked = request({
      method: 'CONNECT',
      host,
      port: proxy.port,
      path: target,
      headers: { host: target, ...proxyAuthorization(proxy) },
      agent: false,
      signal: AbortSignal.timeout(deadlineMs),
    });
    const fail = (why: string, cause?: Error): void =>
      reject(new HttpFailure('unreachable', `the proxy "${proxy.host}" ${why}`, { cause }));
    asked.once('error', (error) => fail('cannot be reached', error));
    asked.once('connect', (answer, socket) => {
      if (answer.statusCode === 200) return resolve(socket);
      socket.destroy();
      fail(answer.statusCode === 407 ? 'asks for a login' : `refused with status ${answer.statusCode}`);
    });
    asked.end();
  });
}

/** Reads addresses and CIDR ranges of both families. Other entries are ignored. */
export function createAddressList(entries: readonly string[]): AddressList {
  return readAddressList(entries, new BlockList());
}

/** Addresses of this machine itself: https://www.rfc-editor.org/rfc/rfc6890.html */
export const loopback = createAddressList(['127.0.0.0/8', '::1/128']);

/** Splits the host of a URL: `[::1]:5000` becomes `::1` and `5000`. */
export function splitHost(host: string): { readonly name: string; readonly port: string } {
  const [, bracketed, plain = '', port = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(host) ?? [];
  return { name: (bracketed ?? plain).toLowerCase(), port };
}
