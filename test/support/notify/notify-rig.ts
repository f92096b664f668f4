import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { afterEach } from 'vitest';
import type { NotifyDeps } from '../../../src/adapters/notify/service/service.ts';
import { parseTargets } from '../../../src/adapters/notify/targets.ts';
import type { Message, SendOutcome, Target } from '../../../src/domain/notification/message.ts';
import { startHttpServer, type Answer, type SeenRequest } from '../http/http-server.ts';

const fixture = (name: string): Buffer => readFileSync(new URL(`../../fixtures/notify-tls/${name}`, import.meta.url));

export const notifyCa = fixture('ca.pem');
const identity = { cert: fixture('server.pem'), key: fixture('server.key') };

/** A received request; `url` is complete. */
export type Received = SeenRequest;

/**
 * Imitates services of the internet on the loopback. Every request goes through a proxy, as with `HTTPS_PROXY`. All its
 * tunnels lead to one receiver, with a certificate for the hosts of all services (`test/fixtures/notify-tls/`).
 */
export type NotifyRig = {
  readonly received: Received[];
  /** `host:port` of each tunnel. */
  readonly tunnels: () => readonly string[];
  readonly deps: NotifyDeps;
  readonly logged: string[];
  readonly target: (url: string) => Target;
  /** From the URL to the outcome. */
  readonly send: (url: string, message?: Partial<Message>) => Promise<SendOutcome>;
};

const open: (() => Promise<void>)[] = [];

/** Inside a `describe` or test file: `await startRig(answer)` in a test; the servers end with it. */
export async function startRig(answer: Answer, changes: Partial<NotifyDeps> = {}): Promise<NotifyRig> {
  const received: Received[] = [];
  const record =
    (scheme: string): Answer =>
    (request) => {
      const url = request.url.startsWith('/') ? `${scheme}://${request.headers.host}${request.url}` : request.url;
      const whole = { ...request, url };
      received.push(whole);
      return answer(whole);
    };
  const secure = await startHttpServer(record('https'), { tls: true, identity });
  const proxy = await startHttpServer(record('http'), { tunnelTo: secure.port });
  const logged: string[] = [];
  const deps: NotifyDeps = {
    version: '1.2.3',
    hostName: 'h1',
    nowMs: () => 1_795_330_813_000,
    proxyFor: () => new URL(proxy.url),
    contextFor: () => Promise.resolve(createSecureContext({ ca: [notifyCa], minVersion: 'TLSv1.2' })),
    writeLog: (text) => void logged.push(text),
    ...changes,
  };
  const target = (url: string): Target => {
    const { targets, problems } = parseTargets([url], deps);
    const [found] = targets;
    if (found === undefined) throw new Error(problems.join('\n'));
    return found;
  };
  open.push(async () => {
    await secure[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
  });
  return {
    received,
    deps,
    logged,
    target,
    tunnels: () => proxy.tunnels.map(({ url }) => url),
    send: (url, message = {}) => target(url).send(aMessage(message), new AbortController().signal),
  };
}

afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

export function aMessage(changes: Partial<Message> = {}): Message {
  return {
    id: 'msg-1',
    title: 'Updates on h1',
    text: 'web was updated',
    level: 'info',
    lines: [],
    createdAtMs: 1_795_330_813_000,
    ...changes,
  };
}
