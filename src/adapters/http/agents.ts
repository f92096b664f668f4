import * as http from 'node:http';
import * as https from 'node:https';
import type { SecureContext } from 'node:tls';
import type { Clock } from '../../domain/outside/outside.ts';
import { splitHost, proxyAuthorization, createTunnelAgent } from './proxy.ts';
import { HttpFailure } from './failure.ts';
import { createLru } from '../../domain/text/plain-data.ts';

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

export type AgentOptions = {
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
