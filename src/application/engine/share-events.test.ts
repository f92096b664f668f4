import { describe, expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { EngineEvent } from '../../domain/outside/engine.ts';
import { shareEvents } from './share-engine.ts';

/** An engine with event streams that the test controls. */
function controlledEngine() {
  const { sandbox } = createSandboxScene();
  const streams: { readonly signal: AbortSignal; readonly onBreak: () => void; next: (event: EngineEvent) => void }[] =
    [];
  const fail = { with: undefined as Error | undefined };
  async function* events(signal: AbortSignal, onBreak = () => {}): AsyncGenerator<EngineEvent, void, undefined> {
    const stream = { signal, onBreak, next: (_: EngineEvent) => {} };
    streams.push(stream);
    if (fail.with) throw fail.with;
    while (!signal.aborted) {
      const event = await new Promise<EngineEvent | undefined>((resolve) => {
        stream.next = resolve;
        signal.addEventListener('abort', () => resolve(undefined), { once: true });
      });
      if (event !== undefined) yield event;
    }
  }
  return { engine: shareEvents({ ...sandbox.engine, events }), streams, fail };
}

const connected: EngineEvent = { kind: 'connected' };
const died = (id: string): EngineEvent => ({ kind: 'container', action: 'die', id, attributes: {}, timeMs: 0 });
const settled = () => new Promise((resolve) => setImmediate(resolve));

function listen(engine: ReturnType<typeof controlledEngine>['engine'], onBreak?: () => void) {
  const leaving = new AbortController();
  const heard: EngineEvent[] = [];
  const ended = (async () => {
    for await (const event of engine.events(leaving.signal, onBreak)) heard.push(event);
  })();
  return { heard, ended, leave: () => leaving.abort() };
}

describe('shareEvents()', () => {
  test('opens one stream for all listeners, and tells each all events', async () => {
    const { engine, streams } = controlledEngine();
    const [one, other] = [listen(engine), listen(engine)];
    await settled();
    expect(streams).toHaveLength(1);
    streams[0]?.next(connected);
    await settled();
    streams[0]?.next(died('a'));
    await settled();
    expect(one.heard).toEqual([connected, died('a')]);
    expect(other.heard).toEqual(one.heard);
  });

  test('tells a later listener at once that the stream stands, unless it is broken', async () => {
    const { engine, streams } = controlledEngine();
    let breaks = 0;
    listen(engine, () => (breaks += 1));
    await settled();
    streams[0]?.next(connected);
    await settled();
    const later = listen(engine);
    await settled();
    expect(later.heard).toEqual([connected]);
    streams[0]?.onBreak();
    expect(breaks).toBe(1);
    const last = listen(engine);
    await settled();
    expect(last.heard).toEqual([]);
    streams[0]?.next(connected);
    await settled();
    expect(last.heard).toEqual([connected]);
    expect(streams).toHaveLength(1);
  });

  test('closes the stream after the last listener, and opens another for the next', async () => {
    const { engine, streams } = controlledEngine();
    const [one, other] = [listen(engine), listen(engine)];
    await settled();
    one.leave();
    await one.ended;
    expect(streams[0]?.signal.aborted).toBe(false);
    other.leave();
    await other.ended;
    expect(streams[0]?.signal.aborted).toBe(true);
    const next = listen(engine);
    await settled();
    expect(streams).toHaveLength(2);
    streams[1]?.next(connected);
    await settled();
    expect(next.heard).toEqual([connected]);
  });

  test('tells its listeners when the stream fails', async () => {
    const { engine, fail } = controlledEngine();
    fail.with = new Error('no such engine');
    await expect(listen(engine).ended).rejects.toThrow('no such engine');
  });
});
