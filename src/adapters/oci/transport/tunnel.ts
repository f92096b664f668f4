import * as http from 'node:http';
import * as https from 'node:https';
import type { Duplex } from 'node:stream';
import { RegistryFailure } from './failure.ts';
import { proxyAuthorization } from './proxy-choice.ts';

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
      reject(new RegistryFailure('unreachable', `the proxy "${proxy.host}" ${why}`, { cause }));
    asked.once('error', (error) => fail('cannot be reached', error));
    asked.once('connect', (answer, socket) => {
      if (answer.statusCode === 200) return resolve(socket);
      socket.destroy();
      fail(answer.statusCode === 407 ? 'asks for a login' : `refused with status ${answer.statusCode}`);
    });
    asked.end();
  });
}
