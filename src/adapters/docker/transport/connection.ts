import dns from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import type { Clock, EngineRoute } from '../../../domain/outside/outside.ts';
import { sshAgents, createSessionLimit, type SshEnvironment, type SessionLimit } from './ssh.ts';
import { codeOf, ServiceError } from '../../../domain/text/errors.ts';
import { withoutSecretParts } from '../../../domain/text/hidden-secrets.ts';
import { quoted } from '../../../domain/text/printable.ts';

export type TlsFiles = {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  /** False: the server's certificate is not verified. */
  readonly verify: boolean;
};

/** The sockets to one engine. */
export type Connection = {
  readonly address: Address;
  /** Where the last connection led to. */
  readonly route: () => EngineRoute;
  readonly closed: () => boolean;
  /** Whether the failure of a request on a kept connection shows that the engine has not read the whole request. */
  readonly wasUnread: (error: unknown) => boolean;
  /** Call it before each request; undefined without a limit. */
  readonly takeTurn: SessionLimit | undefined;
  /** An unsent request. `breakOff` is called if the connection is closed before the call of `ended`. */
  readonly request: (options: ConnectionRequest, breakOff: () => void) => PreparedRequest;
  readonly close: () => void;
};

type PreparedRequest = { readonly message: http.ClientRequest; readonly ended: () => void };

type ConnectionRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly socket: SocketKind;
};

/**
 * `shared`: one of a few kept connections, for short reads. The engine may close it at the moment of its use, so only
 * repeatable calls use it. `change`: a kept connection for changes, where it shows whether the engine has read a request
 * (`wasUnread`), else a new one. `own`: a new connection, for long calls. `events`: a new one for an endless stream.
 */
export type SocketKind = 'shared' | 'change' | 'own' | 'events';

type ConnectionOptions = {
  readonly clock: Clock;
  readonly tls?: TlsFiles;
  readonly maxSockets: number;
  readonly sshEnvironment?: SshEnvironment;
};

export function createConnection(address: Address, options: ConnectionOptions): Connection {
  let peer: string | undefined;
  const agents = createAgents(
    address,
    options,
    lookupOr(() => peer),
  );
  const target = targetOf(address);
  const open = new Set<() => void>();
  let closed = false;

  return {
    address,
    route: () => routeOf(address, peer),
    closed: () => closed,
    takeTurn: address.kind === 'ssh' ? createSessionLimit({ clock: options.clock, host: address.text }) : undefined,
    wasUnread: (error) => address.kind === 'unix' && wasUnread(error),
    request({ socket, ...rest }, breakOff) {
      const secure = address.kind === 'tcp' && address.secure;
      const message = (secure ? https : http).request({ ...target, ...rest, agent: agents[socket] });
      // A stream may be silent for days. The probes detect that the other host is down.
      if (address.kind === 'tcp') message.setSocketKeepAlive(true, probeAfterMs);
      if (address.kind === 'tcp') message.once('socket', (used) => notePeer(used, (found) => (peer = found)));
      open.add(breakOff);
      return { message, ended: () => void open.delete(breakOff) };
    },
    close() {
      closed = true;
      for (const breakOff of open) breakOff();
      for (const agent of new Set(Object.values(agents))) agent.destroy();
    },
  };
}

/**
 * A kernel refuses to write to a unix socket whose other end is closed (EPIPE). It resets the connection if that end is
 * closed with unread bytes of the request, and no engine acts before it has read all of them. A read request ends
 * otherwise: Node reports that without a system call. See unix(7) and `unix_release_sock` in Linux.
 */
function wasUnread(error: unknown): boolean {
  const code = codeOf(error);
  const isOfRead = error instanceof Error && 'syscall' in error && error.syscall === 'read';
  return code === 'EPIPE' || (code === 'ECONNRESET' && isOfRead && process.platform === 'linux');
}

function routeOf(address: Address, peer: string | undefined): EngineRoute {
  if (address.kind === 'unix') return { kind: 'socket', path: address.path };
  const { kind, host, port = sshPort } = address;
  return { kind, host, port, peer };
}

const sshPort = 22;

/**
 * The system's resolver, and while it has no answer the last good address: the DNS for the engine's name may be a
 * container of this engine, which is being replaced.
 */
function lookupOr(lastAddress: () => string | undefined): LookupFunction {
  return (host, options, answer) => {
    dns.lookup(host, options, (error, found, family) => {
      const address = lastAddress();
      const isUnanswered = error !== null && /^(?:EAI_AGAIN|EAI_FAIL|ENOTFOUND)$/.test(error.code ?? '');
      if (!isUnanswered || address === undefined) answer(error, found, family);
      else if (options.all === true) answer(null, [{ address, family: isIP(address) }]);
      else answer(null, address, isIP(address));
    });
  };
}

/** An IPv4 address may have the form of IPv6: `::ffff:10.0.0.2`. */
function notePeer(socket: Socket, note: (address: string) => void): void {
  const look = () => {
    if (socket.remoteAddress !== undefined) note(socket.remoteAddress.replace(/^::ffff:/, ''));
  };
  if (socket.connecting) socket.once('connect', look);
  else look();
}

/** Longer than the pauses within a check; shorter than the idle limits of proxies in front of the socket. */
const keptIdleMs = 4_000;

/** Most concurrent pulls, waits, stops and event streams; far above the needs of an update. */
const maxOwnSockets = 256;

/** Kept for the next changes: as many as an update of several containers has under way at once. */
const maxKeptForChanges = 8;

const keptForChanges = { maxSockets: maxOwnSockets, maxFreeSockets: maxKeptForChanges };

const probeAfterMs = 30_000;

type Agents = Readonly<Record<SocketKind, http.Agent>>;

function createAgents(
  address: Address,
  { tls, maxSockets, clock, sshEnvironment = {} }: ConnectionOptions,
  lookup: LookupFunction,
): Agents {
  const kept = { keepAlive: true, maxSockets, maxFreeSockets: maxSockets, timeout: keptIdleMs, lookup };
  const fresh = { keepAlive: false, maxSockets: maxOwnSockets, lookup };
  if (address.kind === 'ssh') return sshAgents(address, clock, sshEnvironment);
  const isPlain = address.kind === 'unix' || !address.secure;
  const secrets = {
    rejectUnauthorized: tls?.verify ?? true,
    ...(tls?.ca && { ca: tls.ca }),
    ...(tls?.cert && { cert: tls.cert }),
    ...(tls?.key && { key: tls.key }),
  };
  const open = (how: http.AgentOptions) => (isPlain ? new http.Agent(how) : new https.Agent({ ...how, ...secrets }));
  const own = open(fresh);
  const change = address.kind === 'unix' ? open({ ...kept, ...keptForChanges }) : own;
  return { shared: open(kept), change, own, events: own };
}

function targetOf(address: Address): http.RequestOptions {
  if (address.kind === 'unix') return { socketPath: address.path };
  if (address.kind === 'tcp') return { host: address.host, port: address.port };
  return { host: 'engine' };
}

/** The address of an engine. `text` is the address as written, for messages; it never contains a secret. */
export type Address =
  | { readonly kind: 'unix'; readonly text: string; readonly path: string }
  | {
      readonly kind: 'tcp';
      readonly text: string;
      readonly host: string;
      readonly port: number;
      readonly secure: boolean;
    }
  | {
      readonly kind: 'ssh';
      readonly text: string;
      readonly host: string;
      readonly port: number | undefined;
      readonly user: string | undefined;
    };

/**
 * Reads `unix://`, `tcp://`, `http://`, `https://` and `ssh://` as the Docker command line does; `tcp://` is
 * encrypted when TLS is configured. Throws `invalid-input`.
 */
export function parseAddress(text: string, tlsConfigured: boolean): Address {
  if (text.startsWith('unix://')) return unixAddress(text);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const read = url && readers[url.protocol];
  if (!url || !read) throw invalid('it is not an address', text);
  if (url.password !== '') throw invalid('it holds a password', text);
  if (url.hostname === '') throw invalid('it names no host', text);
  if (url.search !== '' || url.hash !== '' || !/^\/?$/.test(url.pathname))
    throw invalid('there is something after the host and port', text);
  return read(url, text, tlsConfigured);
}

type Reader = (url: URL, text: string, tlsConfigured: boolean) => Address;

/** Docker's ports 2375 and 2376: https://docs.docker.com/engine/daemon/remote-access/ */
const readers: Readonly<Record<string, Reader>> = {
  'tcp:': (url, text, secure) => tcpAddress(url, text, { secure, defaultPort: secure ? 2376 : 2375 }),
  'http:': (url, text) => tcpAddress(url, text, { secure: false, defaultPort: 80 }),
  'https:': (url, text) => tcpAddress(url, text, { secure: true, defaultPort: 443 }),
  'ssh:': sshAddress,
};

function unixAddress(text: string): Address {
  const path = text.slice('unix://'.length);
  if (!path.startsWith('/') || path.includes('\0')) throw invalid('a socket needs an absolute path', text);
  return { kind: 'unix', text, path };
}

function tcpAddress(url: URL, text: string, how: { readonly secure: boolean; readonly defaultPort: number }): Address {
  if (url.username !== '') throw invalid('it names a user', text);
  return { kind: 'tcp', text, host: hostOf(url), port: portOf(url) ?? how.defaultPort, secure: how.secure };
}

/** Refuses a host or user that `ssh` would read as an option. */
function sshAddress(url: URL, text: string): Address {
  const host = hostOf(url);
  const user = url.username === '' ? undefined : url.username;
  if (!/^[A-Za-z0-9_.:][A-Za-z0-9_.:-]*$/.test(host)) throw invalid('its host contains invalid characters', text);
  if (user !== undefined && !/^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/.test(user))
    throw invalid('its user contains invalid characters', text);
  return { kind: 'ssh', text, host, port: portOf(url), user };
}

/** An IPv6 address without its brackets. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

function portOf(url: URL): number | undefined {
  return url.port === '' ? undefined : Number(url.port);
}

function invalid(why: string, text: string): ServiceError {
  return new ServiceError(
    'invalid-input',
    `Cannot use ${quoted(withoutSecretParts(text), 200)} as the address of a container engine: ${why}`,
    {
      remedy: 'Write unix:///path/to/socket, tcp://host:port, https://host:port or ssh://user@host',
    },
  );
}
