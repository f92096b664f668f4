import type { EngineEvent } from '../../../domain/outside/engine.ts';
import type { ServerResponse } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectedEngine, engineAt } from '../../../../test/support/engine/connected-engine.ts';
import { createFakeClock } from '../../../../test/support/clock/fake-clock.ts';
import { refuse, type Script } from '../../../../test/support/engine/scripted-engine.ts';
import type { Clock, Engine } from '../../../domain/outside/outside.ts';
import { createSystemClock } from '../../process/clock.ts';

const event = (fields: object): string =>
  `${JSON.stringify({ Type: 'container', Action: 'start', Actor: { ID: 'id', Attributes: {} }, time: 7, ...fields })}\n`;

/** An engine whose event streams the test writes; `streams` are the open responses. */
function engineWithStreams(): { readonly script: Script; readonly streams: ServerResponse[] } {
  const streams: ServerResponse[] = [];
  return {
    streams,
    script: {
      'GET /info': { SystemTime: '2026-01-01T00:00:00.123456789Z' },
      'GET /events': (_: unknown, response: ServerResponse) => {
        response.writeHead(200).flushHeaders();
        streams.push(response);
      },
    },
  };
}

function listen(engine: Engine) {
  const abort = new AbortController();
  const received: EngineEvent[] = [];
  const ended = (async () => {
    for await (const one of engine.events(abort.signal)) received.push(one);
  })();
  return { received, abort, ended };
}

/** A clock that only pauses of up to 10 s advance. They end at once and are recorded. */
function recordingClock(): Clock & { readonly pauses: number[] } {
  const clock = createSystemClock();
  const pauses: number[] = [];
  let elapsedMs = 0;
  return {
    ...clock,
    pauses,
    monotonicMs: () => elapsedMs,
    sleep: (ms, signal) => {
      if (ms > 10_000) return clock.sleep(ms, signal);
      pauses.push(ms);
      elapsedMs += ms;
      return clock.sleep(1, signal);
    },
  };
}

describe('events()', () => {
  test('tells of "connected" first, then what happens, however it is cut', async () => {
    const { script, streams } = engineWithStreams();
    const { engine, server } = await connectedEngine({ script });
    const { received, abort, ended } = listen(engine);
    await expect.poll(() => received).toEqual([{ kind: 'connected' }]);
    const first = event({
      Action: 'rename',
      Actor: { ID: 'abc', Attributes: { name: 'größer', oldName: '/one', odd: 7 } },
      time: 1_700_000_000,
      timeNano: 1_700_000_000_123e6,
    });
    const bytes = Buffer.from(first + event({ Type: 'network', Action: 'connect' }));
    for (const byte of bytes) streams[0]?.write(Buffer.from([byte]));
    await expect.poll(() => received.length).toBe(3);
    expect(received.slice(1)).toEqual([
      {
        kind: 'container',
        action: 'rename',
        id: 'abc',
        attributes: { name: 'größer', oldName: '/one' },
        timeMs: 1_700_000_000_123,
      },
      { kind: 'network', action: 'connect', id: 'id', attributes: {}, timeMs: 7_000 },
    ]);
    abort.abort();
    await ended;
    expect(server.requests.find(({ path }) => path === '/events')?.query).toEqual({
      since: '1767225600.123',
      filters: '{"type":["container","image","network","volume"]}',
    });
  });

  test('passes over what says nothing, and speaks Docker for Podman', async () => {
    const { script, streams } = engineWithStreams();
    const { engine } = await connectedEngine({ script });
    const { received } = listen(engine);
    await expect.poll(() => streams.length).toBe(1);
    const noise = [
      event({ Action: 'exec_create: /bin/sh -c true' }),
      event({ Action: 'exec_die' }),
      event({ Type: 'daemon', Action: 'reload' }),
      event({ Action: undefined }),
      '7\nnull\n[]\n\n',
    ];
    streams[0]?.write(noise.join(''));
    streams[0]?.write(
      event({ Action: 'died' }) + event({ Action: 'remove' }) + event({ Type: 'image', Action: 'remove' }),
    );
    await expect.poll(() => received.length).toBe(4);
    expect(received.slice(1).map((one) => 'action' in one && one.action)).toEqual(['die', 'destroy', 'remove']);
  });

  test('comes back after every end, with "connected" each time', async () => {
    const { script, streams } = engineWithStreams();
    const { engine, server } = await connectedEngine({ script }, { clock: recordingClock() });
    const { received, abort, ended } = listen(engine);
    const ends = [
      () => streams.at(-1)?.end(),
      () => streams.at(-1)?.destroy(),
      () => streams.at(-1)?.end('{"half":'),
      () => streams.at(-1)?.end('no JSON\n'),
      () => server.cut(),
    ];
    for (const [index, end] of ends.entries()) {
      await expect.poll(() => streams.length).toBe(index + 1);
      streams.at(-1)?.write(event({ Action: `n${index}` }));
      await expect.poll(() => received.length).toBe(2 * index + 2);
      end();
    }
    await expect.poll(() => received.length).toBe(2 * ends.length + 1);
    expect(received.filter(({ kind }) => kind === 'connected')).toHaveLength(ends.length + 1);
    abort.abort();
    await ended;
  });

  test('an event that is too large says only that something has happened, and those behind it are heard', async () => {
    const { script, streams } = engineWithStreams();
    const { engine } = await connectedEngine({ script });
    const { received, abort, ended } = listen(engine);
    await expect.poll(() => streams.length).toBe(1);
    const labels = { name: 'large', some: 'x'.repeat(3_000_000) };
    streams[0]?.write(event({ Action: 'start', Actor: { ID: 'a', Attributes: labels } }) + event({ Action: 'die' }));
    await expect.poll(() => received.length).toBe(3);
    expect(received.map((one) => ('action' in one ? one.action : one.kind))).toEqual(['connected', 'connected', 'die']);
    expect(streams).toHaveLength(1);
    abort.abort();
    await ended;
  });

  test('waits longer each time, up to 10 s, while the engine is away', async () => {
    const clock = recordingClock();
    const { engine } = await connectedEngine(
      { script: { '*': (_, response) => refuse(response, 503, 'no') } },
      { clock },
    );
    const { received, abort, ended } = listen(engine);
    await expect.poll(() => clock.pauses.length).toBeGreaterThan(9);
    expect(clock.pauses.slice(0, 10)).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000]);
    abort.abort();
    await ended;
    expect(received).toEqual([]);
  });

  test('opens one connection in each try, while nobody answers', async () => {
    const clock = recordingClock();
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const { abort, ended } = listen(engineAt(`tcp://127.0.0.1:${port}`, { clock }));
    await expect.poll(() => clock.pauses.length).toBeGreaterThan(9);
    abort.abort();
    await ended;
    expect(connections).toBeLessThanOrEqual(clock.pauses.length + 1);
  });

  test.each([
    [0.25, [100, 200, 400, 800, 750, 1_000, 1_000]],
    [0.75, [100, 200, 400, 800, 250, 1_000, 1_000]],
  ])('one of many engines, at %d of the period, is tried at that time of each longest pause', async (part, pauses) => {
    const clock = recordingClock();
    const script: Script = { '*': (_, response) => refuse(response, 503, 'no') };
    const { engine } = await connectedEngine({ script }, { clock, maxRetryMs: 1_000, retryPhase: part });
    const { abort, ended } = listen(engine);
    await expect.poll(() => clock.pauses.length).toBeGreaterThan(6);
    abort.abort();
    await ended;
    expect(clock.pauses.slice(0, 7)).toEqual(pauses);
  });

  test('also listens where it may not ask for the time', async () => {
    const { script, streams } = engineWithStreams();
    const { engine, server } = await connectedEngine({
      script: { ...script, 'GET /info': (_: unknown, response: ServerResponse) => refuse(response, 403, 'no') },
    });
    const { received } = listen(engine);
    await expect.poll(() => received.length).toBe(1);
    expect(streams).toHaveLength(1);
    expect(server.requests.at(-1)?.query['since']).toBeUndefined();
  });

  test('does not end for want of events', async () => {
    const { script, streams } = engineWithStreams();
    const clock = createFakeClock();
    const { engine } = await connectedEngine({ script }, { clock });
    const { received } = listen(engine);
    await expect.poll(() => received.length).toBe(1);
    await clock.advance(24 * 3_600_000);
    streams[0]?.write(event({}));
    await expect.poll(() => received.length).toBe(2);
    expect(streams).toHaveLength(1);
  });

  test('ends when the signal aborts, or the engine is closed, also between two tries', async () => {
    const { script } = engineWithStreams();
    const { engine, server } = await connectedEngine({ script });
    const [one, two] = [listen(engine), listen(engine)];
    await expect.poll(() => [one.received.length, two.received.length]).toEqual([1, 1]);
    one.abort.abort();
    await one.ended;
    server.script({ '*': (_, response) => refuse(response, 503, 'no') });
    server.cut();
    await engine.close();
    await two.ended;
    const none = listen(engine);
    await none.ended;
    expect(none.received).toEqual([]);
  });
});
