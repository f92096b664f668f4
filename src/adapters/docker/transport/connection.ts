import http from 'node:http';
import https from 'node:https';
import type { EngineAddress } from './address.ts';
import { openSsh } from './ssh.ts';

export type TlsFiles = {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  /** False: the server's certificate is not verified. */
  readonly verify: boolean;
};

/** The sockets to one engine. */
export type Connection = {
  readonly address: EngineAddress;
  readonly closed: () => boolean;
  /** A request that has not been sent yet; `breakOff` is called should the connection be closed before `ended` is. */
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
 * `shared`: one of a few kept connections, for short reads. The engine may close one at the moment of its
 * use, so only repeatable calls use it. `own`: a new connection, for changes and long calls. A new
 * connection costs 0.1 ms over a unix socket.
 */
export type SocketKind = 'shared' | 'own';

export function createConnection(
  address: EngineAddress,
  options: { readonly tls?: TlsFiles; readonly maxSockets: number },
): Connection {
  const agents = createAgents(address, options);
  const target = targetOf(address);
  const open = new Set<() => void>();
  let closed = false;

  return {
    address,
    closed: () => closed,
    request({ socket, ...rest }, breakOff) {
      const secure = address.kind === 'tcp' && address.secure;
      const message = (secure ? https : http).request({ ...target, ...rest, agent: agents[socket] });
      // A stream may be silent for days: this is how one learns that the other host is gone.
      if (address.kind === 'tcp') message.setSocketKeepAlive(true, probeAfterMs);
      open.add(breakOff);
      return { message, ended: () => void open.delete(breakOff) };
    },
    close() {
      closed = true;
      for (const breakOff of open) breakOff();
      agents.shared.destroy();
      agents.own.destroy();
    },
  };
}

/** Longer than the pauses within a scan; shorter than the idle limits of the proxies people put before the socket. */
const keptIdleMs = 4_000;

/** Most pulls, waits, stops and event streams at once; far above the needs of an update. */
const maxOwnSockets = 256;

const probeAfterMs = 30_000;

type Agents = Readonly<Record<SocketKind, http.Agent>>;

function createAgents(
  address: EngineAddress,
  { tls, maxSockets }: { readonly tls?: TlsFiles; readonly maxSockets: number },
): Agents {
  const kept = { keepAlive: true, maxSockets, maxFreeSockets: maxSockets, timeout: keptIdleMs };
  const fresh = { keepAlive: false, maxSockets: maxOwnSockets };
  if (address.kind === 'ssh') return sshAgents(address, maxSockets);
  if (address.kind === 'unix' || !address.secure) return { shared: new http.Agent(kept), own: new http.Agent(fresh) };
  const secrets = {
    rejectUnauthorized: tls?.verify ?? true,
    ...(tls?.ca && { ca: tls.ca }),
    ...(tls?.cert && { cert: tls.cert }),
    ...(tls?.key && { key: tls.key }),
  };
  return { shared: new https.Agent({ ...kept, ...secrets }), own: new https.Agent({ ...fresh, ...secrets }) };
}

/**
 * A new session costs half a second, so changes too use one again, if there is a free one; nothing
 * between here and the engine closes it for idleness. At most two of each stay open unused.
 */
function sshAgents(address: EngineAddress & { kind: 'ssh' }, maxSockets: number): Agents {
  const sessions = (atMost: number): http.Agent =>
    Object.assign(new http.Agent({ keepAlive: true, maxSockets: atMost, maxFreeSockets: 2 }), {
      createConnection: () => openSsh(address),
    });
  return { shared: sessions(maxSockets), own: sessions(maxOwnSockets) };
}

function targetOf(address: EngineAddress): http.RequestOptions {
  if (address.kind === 'unix') return { socketPath: address.path };
  if (address.kind === 'tcp') return { host: address.host, port: address.port };
  return { host: 'engine' };
}
