import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Clock, EngineRoute } from '../../../domain/outside/outside.ts';
import type { Address } from './address.ts';
import { sshAgents } from './ssh-agents.ts';
import type { SshEnvironment } from './ssh-session.ts';
import { createSessionLimit, type SessionLimit } from './ssh-session-limit.ts';

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
  /** Call it before each request; undefined without a limit. */
  readonly takeTurn: SessionLimit | undefined;
  /** An unsent request. `breakOff` is called if the connection is closed before the call of `ended`. */
  readonly request: (options: ConnectionRequest, breakOff: () => void) => PreparedRequest;
  readonly close: () => void;
};

export type PreparedRequest = { readonly message: http.ClientRequest; readonly ended: () => void };

export type ConnectionRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly socket: SocketKind;
};

/**
 * `shared`: one of a few kept connections, for short reads. The engine may close it at the moment of its use, so only
 * repeatable calls use it. `own`: a new connection, for changes and long calls. A new connection costs 0.1 ms over a
 * unix socket. `events`: a new connection for an endless stream.
 */
export type SocketKind = 'shared' | 'own' | 'events';

export type ConnectionOptions = {
  readonly clock: Clock;
  readonly tls?: TlsFiles;
  readonly maxSockets: number;
  readonly sshEnvironment?: SshEnvironment;
};

export function createConnection(address: Address, options: ConnectionOptions): Connection {
  const agents = createAgents(address, options);
  const target = targetOf(address);
  const open = new Set<() => void>();
  let closed = false;
  let peer: string | undefined;

  return {
    address,
    route: () => routeOf(address, peer),
    closed: () => closed,
    takeTurn: address.kind === 'ssh' ? createSessionLimit({ clock: options.clock, host: address.text }) : undefined,
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

function routeOf(address: Address, peer: string | undefined): EngineRoute {
  if (address.kind === 'unix') return { kind: 'socket', path: address.path };
  const { kind, host, port = sshPort } = address;
  return { kind, host, port, peer };
}

const sshPort = 22;

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

const probeAfterMs = 30_000;

export type Agents = Readonly<Record<SocketKind, http.Agent>>;

function createAgents(address: Address, { tls, maxSockets, clock, sshEnvironment = {} }: ConnectionOptions): Agents {
  const kept = { keepAlive: true, maxSockets, maxFreeSockets: maxSockets, timeout: keptIdleMs };
  const fresh = { keepAlive: false, maxSockets: maxOwnSockets };
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
  return { shared: open(kept), own, events: own };
}

function targetOf(address: Address): http.RequestOptions {
  if (address.kind === 'unix') return { socketPath: address.path };
  if (address.kind === 'tcp') return { host: address.host, port: address.port };
  return { host: 'engine' };
}
