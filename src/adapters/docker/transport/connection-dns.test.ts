import dns from 'node:dns';
import http from 'node:http';
import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createFakeClock } from '../../../../test/support/clock/fake-clock.ts';
import { createConnection, parseAddress, type SocketKind } from './connection.ts';

/** An engine by a name, for which the system's resolver answers with this error, if there is one. */
async function openEngine() {
  const server = http.createServer((_, response) => void response.end('OK')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const at = server.address();
  const port = typeof at === 'object' && at !== null ? at.port : 0;
  let code: string | undefined;
  const fake = (_: string, { all }: dns.LookupOptions, answer: (...found: readonly unknown[]) => void) => {
    if (code !== undefined) answer(Object.assign(new Error(`getaddrinfo ${code}`), { code }));
    else if (all === true) answer(null, [{ address: '127.0.0.1', family: 4 }]);
    else answer(null, '127.0.0.1', 4);
  };
  const spy = vi.spyOn(dns, 'lookup').mockImplementation(fake as typeof dns.lookup);
  const address = parseAddress(`tcp://nas.home.lan:${port}`, false);
  const connection = createConnection(address, { clock: createFakeClock(), maxSockets: 4 });
  onTestFinished(() => {
    spy.mockRestore();
    connection.close();
    server.close();
  });
  return {
    resolve: (error: string | undefined) => (code = error),
    ask: (socket: SocketKind) =>
      new Promise<string>((resolve) => {
        const { message } = connection.request({ method: 'POST', path: '/', headers: {}, socket }, () => {});
        message.once('response', (response) => {
          response.resume();
          resolve('answered');
        });
        message.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
        message.end();
      }),
  };
}

test.each(['EAI_AGAIN', 'ENOTFOUND'])('an engine by name is reached while its DNS is replaced: %s', async (code) => {
  const { resolve, ask } = await openEngine();
  resolve(code);
  expect(await ask('change')).toBe(code);
  resolve(undefined);
  expect(await ask('change')).toBe('answered');
  resolve(code);
  expect(await ask('change')).toBe('answered');
  expect(await ask('events')).toBe('answered');
});
