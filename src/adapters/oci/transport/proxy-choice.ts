import { ServiceError } from '../../../domain/text/errors.ts';
import { createAddressList, loopback, splitHost } from './address-list.ts';

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
