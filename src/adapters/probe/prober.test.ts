import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createProber } from './prober.ts';

async function serverThatSays(words: string): Promise<{ readonly port: number; readonly heard: () => string }> {
  let heard = '';
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      heard += data.toString('latin1');
      socket.end(words, 'latin1');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, heard: () => heard };
}

const question = { address: '127.0.0.1', path: '/up', timeoutMs: 2000 };

describe('createProber()', () => {
  test('sends one plain GET, with nothing of ours in it', async () => {
    const { port, heard } = await serverThatSays('HTTP/1.1 204 No Content\r\n\r\n');
    expect(await createProber().probe({ ...question, port })).toEqual({ kind: 'status', status: 204 });
    expect(heard().split('\r\n')).toEqual([
      'GET /up HTTP/1.1',
      'User-Agent: upkeep',
      `Host: 127.0.0.1:${port}`,
      'Connection: close',
      '',
      '',
    ]);
  });

  test('takes a switch of protocols for a status', async () => {
    const { port } = await serverThatSays('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    expect(await createProber().probe({ ...question, port })).toEqual({ kind: 'status', status: 101 });
  });

  test.each([
    ['not HTTP', 'SSH-2.0-OpenSSH_9.2\r\n', 'its answer is not HTTP'],
    ['a head without end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}`, 'its answer is not HTTP'],
    ['nothing', '', 'it closed the connection without an answer (ECONNRESET)'],
  ])('takes %s for no answer', async (_, words, reason) => {
    const { port } = await serverThatSays(words);
    expect(await createProber().probe({ ...question, port })).toEqual({ kind: 'silent', reason });
  });

  test('looks no name up', async () => {
    const answer = await createProber().probe({ ...question, address: 'localhost', port: 80 });
    expect(answer).toEqual({ kind: 'silent', reason: 'its address is not an IP address' });
  });
});
