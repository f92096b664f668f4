import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectedEngine, engineAt } from '../../../../test/support/engine/connected-engine.ts';
import { docker28 } from '../../../../test/support/engine/scripted-engine.ts';

const done = 'HTTP/1.1 204 No Content\r\n\r\n';

/**
 * An engine whose sockets are in the hands of the test. `answer` gets each changing request, the socket it came on and
 * its number; a request without an answer stays open.
 */
async function byHand(answer: (socket: Socket, count: number) => string | undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'kept-'));
  const path = join(folder, 's');
  const sockets: Socket[] = [];
  const starts: string[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on('error', () => socket.destroy());
    socket.on('data', (data) => {
      const [line = ''] = data.toString().split('\r\n');
      if (line.includes('/version')) {
        const body = JSON.stringify(docker28);
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        return;
      }
      starts.push(/containers\/(\w+)/.exec(line)?.[1] ?? line);
      const said = answer(socket, starts.length);
      if (said !== undefined) socket.write(said);
    });
  });
  await once(server.listen(path), 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(folder, { recursive: true });
  });
  const engine = engineAt(`unix://${path}`);
  expect(await engine.startContainer('first')).toEqual({ kind: 'done' });
  const kept = sockets.at(-1);
  if (kept === undefined) throw new Error('no connection');
  return { engine, starts, sockets, kept };
}

describe('a change on a kept connection', () => {
  test('opens none over a unix socket, and one each over TCP', async () => {
    for (const tcp of [false, true]) {
      const { engine, server } = await connectedEngine({ tcp, script: { '*': {} } });
      for (let n = 0; n < 5; n += 1) await engine.startContainer('id');
      for (let n = 0; n < 5; n += 1) await engine.tagImage('sha256:1', 'a:b');
      // One is of the question for the version.
      expect(server.connections()).toBe(tcp ? 11 : 2);
    }
  });

  test('of changes at once, takes as many connections, and keeps a few', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': {} } });
    for (let n = 0; n < 3; n += 1)
      await Promise.all(Array.from({ length: 4 }, (_, place) => engine.startContainer(`id${place}`)));
    expect(server.connections()).toBe(5);
  });

  test('that the engine has closed, unnoticed, is sent again on a new one', async () => {
    const { engine, starts, kept, sockets } = await byHand(() => done);
    kept.destroy();
    expect(await engine.startContainer('second')).toEqual({ kind: 'done' });
    expect(starts).toEqual(['first', 'second']);
    expect(sockets).toHaveLength(3);
  });

  test('that the engine has closed, and that is known, is not tried', async () => {
    const { engine, starts, kept } = await byHand(() => done);
    kept.end();
    await turn();
    await turn();
    expect(await engine.startContainer('second')).toEqual({ kind: 'done' });
    expect(starts).toEqual(['first', 'second']);
  });

  test.runIf(process.platform === 'linux')('that the engine closes before it reads, is sent again', async () => {
    const { engine, starts, kept } = await byHand(() => done);
    // `pause()` would still read from the kernel.
    (kept as unknown as { readonly _handle: { readonly readStop: () => void } })._handle.readStop();
    const second = engine.startContainer('second');
    for (let turns = 0; turns < 5; turns += 1) await turn();
    kept.destroy();
    expect(await second).toEqual({ kind: 'done' });
    expect(starts).toEqual(['first', 'second']);
  });

  test('that the engine closes after it has read, is unknown, and never sent twice', async () => {
    for (const close of [(socket: Socket) => socket.destroy(), (socket: Socket) => socket.end()]) {
      const { engine, starts } = await byHand((socket, count) => {
        if (count === 1) return done;
        close(socket);
        return undefined;
      });
      expect(await engine.startContainer('second')).toMatchObject({ kind: 'unknown' });
      expect(starts).toEqual(['first', 'second']);
    }
  });

  test('that is half closed while the engine still reads, is not sent twice', async () => {
    const { engine, starts, kept } = await byHand(() => done);
    kept.end();
    const outcome = await engine.startContainer('second');
    expect(['done', 'unknown']).toContain(outcome.kind);
    await turn();
    expect(starts).toEqual(['first', 'second']);
  });

  test('with half an answer is unknown, and never sent twice', async () => {
    const { engine, starts } = await byHand((socket, count) => {
      if (count === 1) return done;
      socket.end('HTTP/1.1 204 No Con');
      return undefined;
    });
    expect(await engine.startContainer('second')).toMatchObject({ kind: 'unknown' });
    expect(starts).toEqual(['first', 'second']);
  });

  test('whose engine is gone is refused, because nothing can have read it', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': {} } });
    await engine.startContainer('first');
    await server.close();
    expect(await engine.startContainer('second')).toMatchObject({ kind: 'refused', status: 503 });
  });
});
