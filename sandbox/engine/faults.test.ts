import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../../test/support/clock/fake-clock.ts';
import { behaviours } from '../base/behaviour.ts';
import { createSandboxEngine, type SandboxEngineOptions } from './engine.ts';
import { SandboxCrash, type Fault } from './calls.ts';
import { createSandboxRegistry } from '../registry/registry.ts';

const body = { Image: 'shop/web:1' };

function setUp(options: Partial<SandboxEngineOptions> = {}) {
  const clock = createFakeClock();
  const { store } = createSandboxRegistry({ clock });
  const sandbox = createSandboxEngine({ clock, registries: store, ...options });
  sandbox.control.addImage('shop/web:1', { version: '1' });
  const id = sandbox.control.runContainer('web', body);
  const isRunning = () => sandbox.control.snapshot().containers['web']?.running;
  return { clock, store, ...sandbox, id, isRunning };
}

describe('calls', () => {
  test('are numbered in the order in which they are made, and only those that change something', async () => {
    const { engine, calls, id } = setUp();
    await engine.inspectContainer(id);
    await engine.renameContainer(id, 'web.old');
    await engine.listContainers();
    await engine.removeContainer(id);
    expect(calls).toEqual([
      { number: 1, kind: 'renameContainer', target: 'web', detail: 'web.old' },
      { number: 2, kind: 'removeContainer', target: 'web.old', detail: '' },
    ]);
  });

  test('are numbered for each connection by itself', async () => {
    const { engine, connect, id } = setUp();
    const second = connect();
    await engine.renameContainer(id, 'one');
    await second.engine.renameContainer(id, 'two');
    expect(second.calls.map(({ number }) => number)).toEqual([1]);
  });
});

describe('a planned fault', () => {
  const stopMeets = (fault: Fault) => setUp({ faults: [{ at: 'stopContainer', fault }] });

  test('refuse: nothing has changed', async () => {
    const { engine, id, isRunning } = stopMeets({ kind: 'refuse', status: 500, message: 'no space left on device' });
    expect(await engine.stopContainer(id, {})).toEqual({
      kind: 'refused',
      status: 500,
      message: 'no space left on device',
    });
    expect(isRunning()).toBe(true);
  });

  test('lose-request: unknown, and nothing has changed', async () => {
    const { engine, id, isRunning } = stopMeets({ kind: 'lose-request' });
    expect((await engine.stopContainer(id, {})).kind).toBe('unknown');
    expect(isRunning()).toBe(true);
  });

  test('lose-answer: unknown, and it was done', async () => {
    const { engine, id, isRunning } = stopMeets({ kind: 'lose-answer' });
    expect((await engine.stopContainer(id, {})).kind).toBe('unknown');
    expect(isRunning()).toBe(false);
  });

  test('slow: it takes so long, by the clock', async () => {
    const { engine, id, clock } = stopMeets({ kind: 'slow', ms: 5000 });
    await clock.run(() => engine.stopContainer(id, {}));
    expect(clock.monotonicMs()).toBe(5000);
  });

  test('strikes the first call that fits, once', async () => {
    const { engine, id } = stopMeets({ kind: 'refuse', status: 500 });
    await engine.startContainer(id);
    expect((await engine.stopContainer(id, {})).kind).toBe('refused');
    expect((await engine.stopContainer(id, {})).kind).toBe('done');
  });

  test('strikes by number, and every time where asked', async () => {
    const { engine, plan, id } = setUp({ faults: [{ at: 2, fault: { kind: 'refuse', status: 500 } }] });
    plan({ at: ({ target }) => target === 'other', fault: { kind: 'refuse', status: 507 }, every: true });
    const outcomes = [
      await engine.startContainer(id),
      await engine.startContainer(id),
      await engine.createContainer('other', { body, laterEndpoints: [] }),
      await engine.createContainer('other', { body, laterEndpoints: [] }),
    ];
    expect(outcomes.map((outcome) => ('status' in outcome ? outcome.status : outcome.kind))).toEqual([
      'noop',
      500,
      507,
      507,
    ]);
  });

  test('third-party: someone else acts at that moment', async () => {
    const sandbox = setUp();
    const act = () => sandbox.control.removeContainer('web');
    sandbox.plan({ at: 'stopContainer', fault: { kind: 'third-party', when: 'before', act } });
    expect(await sandbox.engine.stopContainer(sandbox.id, {})).toMatchObject({ kind: 'refused', status: 404 });
  });

  test.each(['before', 'during', 'after'] as const)(
    'engine-restart %s the call: the engine answers again',
    async (when) => {
      const { engine, id, clock } = stopMeets({ kind: 'engine-restart', how: 'power-cut', when });
      const outcome = await clock.run(() => engine.stopContainer(id, {}));
      await clock.run(() => clock.sleep(1000));
      expect(outcome.kind).toBe(when === 'after' ? 'done' : 'unknown');
      expect(await engine.inspectContainer(id)).toMatchObject({ state: { status: 'exited' } });
    },
  );
});

describe('a crash', () => {
  test.each([
    ['before', true],
    ['during', false],
    ['after', false],
  ] as const)('%s a call leaves the engine with or without its effect', async (when, stillRuns) => {
    const { engine, id, isRunning, isDead } = setUp({ faults: [{ at: 1, fault: { kind: 'crash', when } }] });
    await expect(engine.stopContainer(id, {})).rejects.toThrow(SandboxCrash);
    expect(isRunning()).toBe(stillRuns);
    expect(isDead()).toBe(true);
  });

  test('ends all that the caller does: reads throw, and nothing has an effect any more', async () => {
    const { engine, id, isRunning, crash, connect } = setUp();
    crash();
    await expect(engine.inspectContainer(id)).rejects.toThrow(SandboxCrash);
    await expect(engine.stopContainer(id, {})).rejects.toThrow(SandboxCrash);
    expect(isRunning()).toBe(true);
    expect(await connect().engine.stopContainer(id, {})).toEqual({ kind: 'done' });
  });

  test('ends calls that are waiting for the engine', async () => {
    const { engine, id, crash, clock } = setUp({ latencyMs: { stopContainer: 100 } });
    const stop = engine.stopContainer(id, {});
    const failure = expect(stop).rejects.toThrow(SandboxCrash);
    await clock.advance(50);
    crash();
    await clock.advance(100);
    await failure;
  });

  test('in the middle of a stop leaves the engine to finish it: running, until it is dead', async () => {
    const { engine, control, clock, connect } = setUp({
      faults: [{ at: 1, fault: { kind: 'crash', when: 'during' } }],
    });
    control.addImage('shop/slow:1', { behaviour: behaviours.stopsSlowly });
    const id = control.runContainer('slow', { Image: 'shop/slow:1' });
    await expect(engine.stopContainer(id, {})).rejects.toThrow(SandboxCrash);
    const next = connect().engine;
    const status = async () => (await next.inspectContainer(id))?.state.status;
    expect(await status()).toBe('running');
    expect(await next.startContainer(id)).toEqual({ kind: 'noop' });
    await clock.advance(1999);
    expect(await status()).toBe('running');
    await clock.advance(1);
    expect(await status()).toBe('exited');
  });
});

describe('an engine that is down', () => {
  test('refuses changes, throws at reads, and answers again', async () => {
    const { engine, id, control } = setUp();
    control.stopEngine('crash');
    expect(await engine.stopContainer(id, {})).toMatchObject({ kind: 'refused', status: 503 });
    await expect(engine.listContainers()).rejects.toMatchObject({ code: 'engine-unreachable' });
    control.startEngine();
    expect(await engine.listContainers()).toHaveLength(1);
  });

  test('takes a stop with it that was under way', async () => {
    const { engine, control, clock } = setUp();
    control.addImage('shop/slow:1', { behaviour: behaviours.stopsSlowly });
    const id = control.runContainer('slow', { Image: 'shop/slow:1' });
    const stop = engine.stopContainer(id, {});
    await clock.advance(100);
    await control.restartEngine('crash');
    expect((await stop).kind).toBe('unknown');
    expect(await engine.inspectContainer(id)).toMatchObject({ state: { status: 'exited' } });
  });

  test('breaks off a pull', async () => {
    const { engine, control, clock, store } = setUp({ pullStepMs: 1000 });
    store.publish('shop/new:1', { version: 'new' });
    const pull = engine.pullImage({ reference: 'shop/new:1' });
    const failure = expect(pull).rejects.toMatchObject({ code: 'engine-unreachable' });
    await clock.advance(1500);
    await control.restartEngine('graceful');
    await failure;
    expect(await engine.inspectImage('shop/new:1')).toBeUndefined();
  });
});

describe('a full disk', () => {
  test('refuses create, rename, update and tag; stop, and start of what has run before, work', async () => {
    const { engine, control, id } = setUp();
    const never = control.addContainer('never-started', body);
    control.fillDisk();
    const full = { kind: 'refused', status: 500, message: 'no space left on device' };
    expect(await engine.createContainer('other', { body, laterEndpoints: [] })).toEqual(full);
    expect(await engine.renameContainer(id, 'other')).toEqual(full);
    expect(await engine.updateRestartPolicy(id, { Name: 'always', MaximumRetryCount: 0 })).toEqual(full);
    expect(await engine.tagImage('shop/web:1', 'shop/web:2')).toEqual(full);
    expect(await engine.startContainer(never)).toMatchObject({ kind: 'refused', status: 500 });
    expect(await engine.stopContainer(id, {})).toEqual({ kind: 'done' });
    expect(await engine.startContainer(id)).toEqual({ kind: 'done' });
    expect(Object.keys(control.snapshot().containers)).toEqual(['web', 'never-started']);
    control.freeDisk();
    expect(await engine.renameContainer(id, 'other')).toEqual({ kind: 'done' });
  });

  test('breaks off a pull, and leaves nothing', async () => {
    const { engine, control, store } = setUp();
    store.publish('shop/new:1', { version: 'new' });
    control.fillDisk();
    await expect(engine.pullImage({ reference: 'shop/new:1' })).rejects.toThrow('no space left on device');
    expect(await engine.inspectImage('shop/new:1')).toBeUndefined();
  });
});
