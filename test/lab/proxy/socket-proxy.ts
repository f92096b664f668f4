import type { FaultProxy, ProxiedCall } from './fault-proxy.ts';

/** The rules of a proxy before the socket: what it permits, and how it refuses everything else. */
export type SocketProxy = {
  readonly permits: (call: Call) => boolean;
  readonly refusals: readonly Refusal[];
};

type Call = Pick<ProxiedCall, 'method' | 'path'>;

type Refusal = {
  readonly status: number;
  readonly body: string;
  /** The calls that are refused in this way; default: all. */
  readonly of?: (call: Call) => boolean;
};

/** Makes a fault proxy refuse like a socket proxy, instead of its former rules. */
export function behave(proxy: FaultProxy, { permits, refusals }: SocketProxy): void {
  proxy.disarm();
  for (const { status, body, of = () => true } of refusals)
    proxy.arm({
      at: (call) => !permits(call) && of(call),
      times: Infinity,
      fault: { kind: 'answer', when: 'before', status, body, headers: { 'content-type': 'text/html' } },
    });
}

const versionless = (path: string) => path.replace(/^\/v[\d.]+(?=\/)/, '').replace(/\?.*$/, '');

const haproxys = '<html><body><h1>403 Forbidden</h1>\nRequest forbidden by administrative rules.\n</body></html>\n';
const nginxs =
  '<html>\r\n<head><title>403 Forbidden</title></head>\r\n<body>\r\n<center><h1>403 Forbidden</h1></center>\r\n</body>\r\n</html>\r\n';

/**
 * Tecnativa's, with HAProxy: each variable is the first part of a path. `POST` permits every other method than GET.
 * https://github.com/Tecnativa/docker-socket-proxy/blob/master/haproxy.cfg
 */
export function tecnativa(...variables: readonly string[]): SocketProxy {
  const given = new Set(['EVENTS', 'PING', 'VERSION', ...variables]);
  return {
    permits: ({ method, path }) => {
      if (method !== 'GET' && method !== 'HEAD' && !given.has('POST')) return false;
      const [, first = ''] = versionless(path).split('/');
      return given.has(first.replace('_', '').toUpperCase());
    },
    refusals: [{ status: 403, body: haproxys }],
  };
}

/**
 * LinuxServer's first releases, with nginx: a start and a stop need their own variable, also with `CONTAINERS`.
 * https://github.com/linuxserver/docker-socket-proxy, `root/templates/default_post.template`
 */
export function linuxserver(...variables: readonly string[]): SocketProxy {
  const given = new Set(variables);
  const others = tecnativa(...variables);
  const own = /^\/containers\/[\w.-]+\/(start|stop|restart|kill)$/;
  const variableOf: Readonly<Record<string, string>> = { start: 'ALLOW_START', stop: 'ALLOW_STOP' };
  return {
    permits: (call) => {
      const [, what = ''] = own.exec(versionless(call.path)) ?? [];
      return what === '' ? others.permits(call) : given.has(variableOf[what] ?? 'ALLOW_RESTARTS');
    },
    refusals: [{ status: 403, body: nginxs }],
  };
}

/**
 * wollomatic's: one pattern for the whole path of each method.
 * https://github.com/wollomatic/socket-proxy/blob/main/cmd/socket-proxy/handlehttprequest.go
 */
export function wollomatic(patterns: Readonly<Record<string, string>>): SocketProxy {
  const allowed = (method: string) => patterns[`-allow${method}`];
  return {
    permits: ({ method, path }) => {
      const pattern = allowed(method);
      return pattern !== undefined && new RegExp(`^(?:${pattern})$`).test(path.replace(/\?.*$/, ''));
    },
    refusals: [
      { status: 405, body: 'Method Not Allowed\n', of: ({ method }) => allowed(method) === undefined },
      { status: 403, body: 'Forbidden\n' },
    ],
  };
}
