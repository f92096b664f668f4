import * as http from 'node:http';
import * as https from 'node:https';
import * as tls from 'node:tls';
import type { SecureContext } from 'node:tls';
import type { Clock } from '../../domain/outside/outside.ts';
import { HttpFailure } from './exchange.ts';
import { createLru } from '../../domain/text/plain-data.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import type { Duplex } from 'node:stream';
import { BlockList } from 'node:net';
import { readAddressList, type AddressList } from '../../domain/settings/http-settings.ts';
import { X509Certificate } from 'node:crypto';
import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The route of requests to one origin: scheme, host and port. */
export type Route = {
  readonly request: typeof http.request;
  readonly options: { readonly agent: http.Agent; readonly host: string; readonly port: string };
  /** Headers for a proxy that receives whole URLs; undefined without a proxy. */
  readonly proxyHeaders: Readonly<Record<string, string>> | undefined;
};

export type Agents = {
  readonly routeTo: (url: URL) => Promise<Route>;
  /** The next request to the origin builds a new route, because certificates may have changed. */
  readonly forget: (url: URL) => void;
  /** Ends all requests. Later ones fail. */
  readonly close: () => Promise<void>;
};

type AgentOptions = {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** True if the certificate of the host is not verified. */
  readonly isInsecure: (host: string) => Promise<boolean>;
  readonly contextFor: (host: string) => Promise<SecureContext>;
  readonly proxyFor: (url: URL) => URL | undefined;
  readonly maxSocketsPerOrigin: number;
  readonly deadlineMs: number;
};

/** Keeps connections alive between requests, per origin. */
export function createAgents(options: AgentOptions): Agents {
  const { clock, isInsecure, contextFor, proxyFor, maxSocketsPerOrigin, deadlineMs } = options;
  const routes = createLru<{ readonly route: Promise<Route>; readonly untilMs: number }>(maxOrigins);
  let isClosed = false;
  const keeping = {
    keepAlive: true,
    maxSockets: maxSocketsPerOrigin,
    maxFreeSockets: maxSocketsPerOrigin,
    scheduling: 'lifo',
    timeout: idleMs,
    autoSelectFamilyAttemptTimeout: familyAttemptMs,
  } as const;

  return {
    routeTo(url) {
      if (isClosed) return Promise.reject(new HttpFailure('unreachable', 'the service is stopping'));
      const known = routes.get(url.origin);
      if (known !== undefined && clock.monotonicMs() < known.untilMs) return known.route;
      const route = url.protocol === 'https:' ? secureRoute(url) : plainRoute(url);
      routes.set(url.origin, { route, untilMs: clock.monotonicMs() + routeTtlMs });
      route.catch(() => {
        if (routes.get(url.origin)?.route === route) routes.delete(url.origin);
      });
      return route;
    },
    forget: (url) => routes.delete(url.origin),
    async close() {
      isClosed = true;
      for (const route of await Promise.allSettled([...routes.values()].map(({ route }) => route)))
        if (route.status === 'fulfilled') route.value.options.agent.destroy();
      routes.clear();
    },
  };

  async function secureRoute(url: URL): Promise<Route> {
    const proxy = proxyFor(url);
    const [secureContext, isInsecureHost] = await Promise.all([contextFor(url.host), isInsecure(url.host)]);
    const secure = { ...keeping, secureContext, rejectUnauthorized: !isInsecureHost };
    const agent = proxy === undefined ? new https.Agent(secure) : createTunnelAgent(proxy, deadlineMs, secure);
    return { request: https.request, options: { agent, ...addressOf(url) }, proxyHeaders: undefined };
  }

  async function plainRoute(url: URL): Promise<Route> {
    const proxy = proxyFor(url);
    const { Agent, request } = proxy?.protocol === 'https:' ? https : http;
    return {
      request,
      options: { agent: new Agent(keeping), ...addressOf(proxy ?? url) },
      proxyHeaders: proxy === undefined ? undefined : proxyAuthorization(proxy),
    };
  }
}

/** More registries, token servers and stores than any list of images needs. Also limits hostile redirects. */
const maxOrigins = 256;

/** Certificates may be removed, and a host may leave the engine's list of insecure registries. */
const routeTtlMs = 60_000;

/** A connection is closed after this idle time, because sockets take memory. */
const idleMs = 15_000;

/**
 * Node's default of 250 ms is too short for distant addresses:
 * https://nodejs.org/api/net.html#netgetdefaultautoselectfamilyattempttimeout
 */
const familyAttemptMs = 1000;

function addressOf(url: URL): { readonly host: string; readonly port: string } {
  return { host: splitHost(url.host).name, port: url.port };
}

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

export type TlsVersion = 'TLSv1.2' | 'TLSv1.3';

export type AuthorityOptions = {
  readonly tlsMinVersion: TlsVersion;
  /** PEM files of authorities that are trusted besides the well-known ones. */
  readonly extraCa: readonly Buffer[];
  /** Authorities of the system, trusted too; undefined: none. */
  readonly systemTrust: SystemTrust | undefined;
  /** Docker's folder of certificates per registry; undefined: none. */
  readonly certsFolder: string | undefined;
};

/** As in Go, and so in Docker: https://pkg.go.dev/crypto/x509#SystemCertPool */
export type SystemTrust = {
  /** `SSL_CERT_FILE`; undefined: the first usual file of the system. */
  readonly file: string | undefined;
  /** `SSL_CERT_DIR` */
  readonly folders: readonly string[];
  /** `NODE_EXTRA_CA_CERTS`, which Node 20 ignores beside other authorities. */
  readonly nodeFile: string | undefined;
};

/**
 * The trusted authorities for a host, and Upkeep's client certificate. Each call reads `HOST:PORT/*.crt` (authorities)
 * and `*.cert` with `*.key` (client certificate): https://docs.docker.com/engine/security/certificates/
 */
export function createAuthorities(options: AuthorityOptions): (host: string) => Promise<tls.SecureContext> {
  const { tlsMinVersion: minVersion, extraCa, systemTrust, certsFolder } = options;
  let common: tls.SecureContext | undefined;
  let system: Promise<readonly string[]> | undefined;

  return async function contextFor(host) {
    const folder = certsFolder === undefined || host.startsWith('.') ? undefined : join(certsFolder, host);
    try {
      const own = folder === undefined ? undefined : await readCertificates(folder);
      const trusted = [...(await (system ??= readSystemTrust(systemTrust))), ...extraCa];
      if (own === undefined) return (common ??= contextTrusting(trusted, { minVersion }));
      return contextTrusting([...trusted, ...own.ca], { minVersion, ...own.client });
    } catch (cause) {
      const where = folder === undefined ? 'given as authorities' : `in "${folder}" or given as authorities`;
      throw new HttpFailure('unreachable', `the certificates ${where} cannot be used`, { host, cause });
    }
  };
}

/**
 * Trusts `extra` besides the well-known authorities. Given as `ca`, a list replaces these, and reading 150 of them again
 * takes 20 ms of processor time, so the extra ones are added to those that Node has read already.
 */
function contextTrusting(extra: readonly (string | Buffer)[], options: tls.SecureContextOptions): SecureContext {
  const made = tls.createSecureContext(options);
  if (extra.length === 0) return made;
  // It has no documentation, but Node itself adds each `ca` with it.
  const native = made.context as { readonly addCACert?: (authority: string | Buffer) => void };
  if (native.addCACert === undefined) return tls.createSecureContext({ ...options, ca: [...wellKnown(), ...extra] });
  for (const authority of extra) native.addCACert(authority);
  return made;
}

/** Node 22.15 and newer also include the authorities of the system and of `NODE_EXTRA_CA_CERTS`. */
function wellKnown(): readonly string[] {
  const newer: typeof tls & { readonly getCACertificates?: (kind: 'default') => string[] } = tls;
  return newer.getCACertificates?.('default') ?? tls.rootCertificates;
}

/** The system's authorities that Node does not know. A file that cannot be read, and what is no certificate, is ignored. */
async function readSystemTrust(trust: SystemTrust | undefined): Promise<readonly string[]> {
  if (trust === undefined) return [];
  const bundles = trust.file === undefined ? usualFiles : [trust.file];
  const texts = [firstOf(bundles)];
  if (trust.nodeFile !== undefined) texts.push(firstOf([trust.nodeFile]));
  for (const folder of trust.folders)
    for (const path of (await certificatesIn(folder)).slice(0, maxFiles))
      if (!bundles.includes(path)) texts.push(firstOf([path]));
  const found = texts.flatMap((text) => text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []);
  if (found.length === 0) return [];
  const known = new Set(wellKnown().map(withoutSpaces));
  const unknown = new Map(found.map((pem) => [withoutSpaces(pem), pem]));
  return [...unknown].flatMap(([key, pem]) => (known.has(key) || !isCertificate(pem) ? [] : [pem]));
}

/** Of Debian, Fedora, openSUSE, Enterprise Linux and Alpine. https://go.dev/src/crypto/x509/root_linux.go */
const usualFiles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/tls/cacert.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

/**
 * A folder of a system has some 300 names: each authority under two, of which one links to the other, as Go leaves out
 * too.
 */
async function certificatesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries
    .map((entry) => ({ entry, path: join(folder, entry.name) }))
    .filter(({ entry, path }) => !entry.isSymbolicLink() || leadsElsewhere(path))
    .map(({ path }) => path)
    .sort();
}

function leadsElsewhere(path: string): boolean {
  try {
    return readlinkSync(path).includes('/');
  } catch {
    return false;
  }
}

const maxFiles = 1000;

const maxFileBytes = 4 * 1024 * 1024;

/**
 * The first of the files that can be read; empty without any. It is synchronous: a hundred small files take 3 ms so, and
 * 50 ms of processor time with promises.
 */
function firstOf(paths: readonly string[]): string {
  for (const path of paths) {
    try {
      const found = statSync(path);
      if (found.isFile() && found.size <= maxFileBytes) return readFileSync(path, 'utf8');
    } catch {
      // Systems keep their authorities in different places.
    }
  }
  return '';
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

function withoutSpaces(pem: string): string {
  return pem.replaceAll(/\s/g, '');
}

type Certificates = { readonly ca: readonly Buffer[]; readonly client: { cert: Buffer; key: Buffer } | undefined };

async function readCertificates(folder: string): Promise<Certificates | undefined> {
  const names = await filesIn(folder);
  const read = (name: string): Promise<Buffer> => readFile(join(folder, name));
  const ca = await Promise.all(names.filter((name) => name.endsWith('.crt')).map(read));
  const pair = names.find((name) => name.endsWith('.cert') && names.includes(keyOf(name)));
  const client = pair === undefined ? undefined : { cert: await read(pair), key: await read(keyOf(pair)) };
  return ca.length === 0 && client === undefined ? undefined : { ca, client };
}

function keyOf(certificate: string): string {
  return certificate.replace(/\.cert$/, '.key');
}

async function filesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch {
    return [];
  }
}
