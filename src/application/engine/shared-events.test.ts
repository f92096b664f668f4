import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import type { EngineEvent, EngineReader } from '../../domain/outside/engine-reader.ts';
import { shareEvents } from './shared-events.ts';

const died = (id: string): EngineEvent => ({ kind: 'container', action: 'die', id, attributes: {}, timeMs: 1 });
const connected: EngineEvent = { kind: 'connected' };

/** An engine whose stream the test speaks for. */
function speakingEngine() {
  const streams: { say: (event: EngineEvent) => void; fail: (error: Error) => void; break: () => void }[] = [];
  let open = 0;
  async function* events(signal: AbortSignal, onBreak?: () => void): AsyncIterable<EngineEvent> {
    const said: EngineEvent[] = [];
    let failure: Error | undefined;
    let wake = () => {};
    const on = (change: () => void) => {
      change();
      wake();
    };
    streams.push({
      say: (event) => on(() => said.push(event)),
      fail: (error) => on(() => (failure = error)),
      break: () => onBreak?.(),
    });
    signal.addEventListener('abort', () => wake());
    open += 1;
    try {
      for (;;) {
        if (said.length === 0 && failure === undefined && !signal.aborted)
          await new Promise<void>((resolve) => (wake = resolve));
        if (failure !== undefined) throw failure;
        if (signal.aborted) return;
        yield* said.splice(0);
      }
    } finally {
      open -= 1;
    }
  }
  const shared = shareEvents({ events });
  return { shared, streams, open: () => open };
}

function listenTo(engine: Pick<EngineReader, 'events'>) {
  const closing = new AbortController();
  const heard: EngineEvent[] = [];
  let breaks = 0;
  const ended = (async () => {
    for await (const event of engine.events(closing.signal, () => (breaks += 1))) heard.push(event);
  })();
  return { heard, ended, close: () => closing.abort(), breaks: () => breaks };
}

test('all listeners hear one stream, and a late one hears that it is connected', async () => {
  const { shared, streams } = speakingEngine();
  const first = listenTo(shared);
  streams[0]?.say(connected);
  streams[0]?.say(died('a'));
  await expect.poll(() => first.heard).toEqual([connected, died('a')]);
  const late = listenTo(shared);
  streams[0]?.say(died('b'));
  await expect.poll(() => late.heard).toEqual([connected, died('b')]);
  expect(first.heard).toEqual([connected, died('a'), died('b')]);
  expect(streams).toHaveLength(1);
});

test('the stream ends with its last listener, and the next one opens another', async () => {
  const { shared, streams, open } = speakingEngine();
  const [one, other] = [listenTo(shared), listenTo(shared)];
  one.close();
  await one.ended;
  expect(open()).toBe(1);
  other.close();
  await other.ended;
  await expect.poll(open).toBe(0);
  const next = listenTo(shared);
  await expect.poll(() => streams.length).toBe(2);
  expect(next.heard).toEqual([]);
  streams[1]?.say(connected);
  await expect.poll(() => next.heard).toEqual([connected]);
});

test('a break is told to all, and one who comes before the reconnect hears nothing yet', async () => {
  const { shared, streams } = speakingEngine();
  const one = listenTo(shared);
  streams[0]?.say(connected);
  await expect.poll(() => one.heard).toEqual([connected]);
  streams[0]?.break();
  expect(one.breaks()).toBe(1);
  const late = listenTo(shared);
  streams[0]?.say(connected);
  await expect.poll(() => late.heard).toEqual([connected]);
  expect(one.heard).toEqual([connected, connected]);
});

test('a stream that fails fails for all, and the next listener has another', async () => {
  const { shared, streams } = speakingEngine();
  const [one, other] = [listenTo(shared), listenTo(shared)];
  const failed = Promise.allSettled([one.ended, other.ended]);
  streams[0]?.fail(new Error('the engine is gone'));
  expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  listenTo(shared);
  await expect.poll(() => streams.length).toBe(2);
});

test('a listener that falls behind is told that it may have missed something', async () => {
  const { shared, streams } = speakingEngine();
  const heard: EngineEvent[] = [];
  const closing = new AbortController();
  const events = shared.events(closing.signal)[Symbol.asyncIterator]();
  const first = events.next();
  streams[0]?.say(connected);
  await first;
  for (let each = 0; each < 25_000; each += 1) streams[0]?.say(died(String(each)));
  await setImmediate();
  const last = died('24999');
  for (let event: EngineEvent = connected; !isDeepStrictEqual(event, last); heard.push(event))
    event = (await events.next()).value as EngineEvent;
  expect(heard.length).toBeLessThan(20_000);
  expect(heard).toContainEqual(connected);
  closing.abort();
});
