import { formatDuration } from '../../domain/text/duration.ts';
import type { Clock, Engine } from '../../domain/outside/outside.ts';
import type { EngineEvent } from '../../domain/outside/engine.ts';
import { describe, expect, test } from 'vitest';
import { countCalls } from '../../../test/support/engine/counted-engine.ts';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { Behaviour } from '../../../sandbox/base/behaviour.ts';
import type { Healthcheck } from '../../domain/container/container.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { healthDeadlineMs, passHealthCheck } from './health.ts';
import { endsSoon } from '../async/concurrency.ts';

const settings = { ...defaultSettings, healthWindowMs: 10_000 };
const second = 1_000_000_000;

const probe = (text: string) => ({ 'upkeep.health-probe': text });

async function awaitHealth(
  behaviour: Behaviour,
  {
    healthcheck,
    labels = {},
    upForMs = 0,
  }: { healthcheck?: Healthcheck; labels?: Record<string, string>; upForMs?: number } = {},
) {
  const { sandbox, registry, clock, startProcess } = createSandboxScene();
  registry.store.publish('app', { behaviour, ...(healthcheck && { config: { Healthcheck: healthcheck } }) });
  await sandbox.engine.pullImage({ reference: 'app' });
  const id = sandbox.control.runContainer('app', { Image: 'app', Labels: labels });
  if (upForMs > 0) await clock.sleep(upForMs);
  const begunAt = clock.monotonicMs();
  const verdict = await clock.run(() => passHealthCheck(startProcess().outside, settings, id));
  return { verdict, tookMs: clock.monotonicMs() - begunAt };
}

describe('passHealthCheck()', () => {
  test('passes a container without HEALTHCHECK that is up for the whole window', async () => {
    expect(await awaitHealth({})).toEqual({ verdict: { kind: 'passed' }, tookMs: 10_000 });
  });

  test('counts the time that it has been up already, as after a crash of ours', async () => {
    expect(await awaitHealth({}, { upForMs: 7000 })).toEqual({ verdict: { kind: 'passed' }, tookMs: 3000 });
  });

  test('watches one for a second although its window is over, because a slow start hides an exit until it is written', async () => {
    const ended = await awaitHealth({ exitsAfterMs: 30_300, exitCode: 3 }, { upForMs: 30_000 });
    expect(ended.verdict).toMatchObject({ kind: 'failed', reason: 'it exited with code 3' });
    expect(await awaitHealth({}, { upForMs: 30_000 })).toEqual({ verdict: { kind: 'passed' }, tookMs: 1000 });
  });

  test('fails one that ends within the window, with its exit code', async () => {
    const { verdict } = await awaitHealth({ exitsAfterMs: 4000, exitCode: 7 });
    expect(verdict).toMatchObject({ kind: 'failed', reason: 'it exited with code 7', ownFault: true });
  });

  test('waits for the first healthy probe, longer than the window if need be', async () => {
    const { verdict, tookMs } = await awaitHealth(
      { health: { kind: 'healthy', afterMs: 25_000 } },
      { healthcheck: { Test: ['CMD', 'true'], Interval: second, StartPeriod: 60 * second } },
    );
    expect(verdict).toEqual({ kind: 'passed' });
    expect(tookMs).toBeGreaterThanOrEqual(25_000);
    expect(tookMs).toBeLessThan(27_000);
  });

  test('has a HEALTHCHECK run in its intervals by an engine that leaves it to others', async () => {
    const { sandbox, registry, clock, startProcess } = createSandboxScene();
    const Healthcheck = { Test: ['CMD', 'true'], Interval: 2 * second, StartPeriod: 60 * second };
    registry.store.publish('app', {
      behaviour: { health: { kind: 'healthy', afterMs: 9000 } },
      config: { Healthcheck },
    });
    await sandbox.engine.pullImage({ reference: 'app' });
    const id = sandbox.control.runContainer('app', { Image: 'app' });
    const { outside } = startProcess();
    const probedAt: number[] = [];
    const engine: Engine = {
      ...outside.engine,
      info: async () => ({
        ...(await outside.engine.info()),
        abilities: { changesRestartPolicies: true, probesHealth: false },
      }),
      probeHealth: async () => void probedAt.push(clock.monotonicMs()),
    };
    expect(await clock.run(() => passHealthCheck({ ...outside, engine }, settings, id))).toEqual({ kind: 'passed' });
    const pauses = probedAt.slice(1).map((at, index) => at - (probedAt[index] ?? 0));
    expect(pauses.length).toBeGreaterThan(2);
    for (const pause of pauses) expect(pause).toBeGreaterThanOrEqual(2000);
  });

  test('waits for a slow first start: unhealthy before the deadline ends nothing', async () => {
    const { verdict, tookMs } = await awaitHealth(
      { health: { kind: 'healthy', afterMs: 35_000 } },
      {
        healthcheck: { Test: ['CMD', 'true'], Interval: second, Retries: 3 },
        labels: { 'upkeep.health-timeout': '40s' },
      },
    );
    expect(verdict).toEqual({ kind: 'passed' });
    expect(tookMs).toBeGreaterThanOrEqual(35_000);
    expect(tookMs).toBeLessThan(38_000);
  });

  test.each([
    ['its health timeout', { 'upkeep.health-timeout': '40s' }, 40_000],
    ['100 s without one, however short its own times are', {}, 100_000],
  ])('fails one that stays unhealthy after %s, with the output of its last probe', async (_, labels, expectedMs) => {
    const { verdict, tookMs } = await awaitHealth(
      { health: { kind: 'unhealthy', output: 'no route\nto db' } },
      { healthcheck: { Test: ['CMD', 'true'], Interval: second, Timeout: second, Retries: 2 }, labels },
    );
    expect(tookMs).toBe(expectedMs);
    const reason = `it did not become healthy within ${formatDuration(expectedMs)}, and is unhealthy: no route\\nto db`;
    expect(verdict).toEqual({ kind: 'failed', reason, ownFault: true, wasRunningAtFirst: true });
  });

  test('fails one that ends while it is unhealthy at once', async () => {
    const { verdict, tookMs } = await awaitHealth(
      { health: { kind: 'unhealthy' }, exitsAfterMs: 20_000, exitCode: 9 },
      { healthcheck: { Test: ['CMD', 'true'], Interval: second }, labels: { 'upkeep.health-timeout': '10m' } },
    );
    expect(verdict).toMatchObject({ reason: 'it exited with code 9', ownFault: true });
    expect(tookMs).toBe(20_000);
  });

  test.each([
    ['over HTTP', 'http://:8080/healthz', { listens: [{ port: 8080, status: 200, afterMs: 25_000 }] }],
    ['by a connection', 'tcp://:5432', { listens: [{ port: 5432, afterMs: 25_000 }] }],
  ])('has a probe pass %s, after the window', async (_, text, behaviour) => {
    const { verdict, tookMs } = await awaitHealth(behaviour, { labels: probe(text) });
    expect(verdict).toEqual({ kind: 'passed' });
    expect(tookMs).toBeGreaterThanOrEqual(25_000);
    expect(tookMs).toBeLessThan(27_000);
  });

  test('has a probe pass inside of the container', async () => {
    expect((await awaitHealth({ commands: { 'is-up': {} } }, { labels: probe('exec:is-up') })).verdict).toEqual({
      kind: 'passed',
    });
  });

  test.each([
    ['http://:80/up?key=hunter2', {}, 'http://:80/up did not pass within 1m10s: nothing listens on the port'],
    [
      'http://:80/up',
      { listens: [{ port: 80, status: 503 }] },
      'http://:80/up did not pass within 1m10s: it answered with status 503',
    ],
    ['http://:80/', { listens: [{ port: 80 }] }, 'http://:80/ did not pass within 1m1'],
    ['tcp://:81', { listens: [{ port: 80 }] }, 'tcp://:81 did not pass within 1m10s: nothing listens'],
    [
      'exec:ask --password hunter2',
      { commands: { 'ask --password hunter2': { exitCode: 2, output: 'not\nyet' } } },
      'exec did not pass within 1m10s: the command ended with code 2 (not',
    ],
    ['exec:ask', { shellless: true }, 'exec did not pass within 1m10s: the command ended with code 126'],
  ])('fails one whose probe %s does not pass, and says why', async (text, behaviour, reason) => {
    const { verdict, tookMs } = await awaitHealth(behaviour, { labels: probe(text) });
    expect(verdict).toMatchObject({ kind: 'failed', ownFault: true, wasRunningAtFirst: true });
    expect(verdict).toHaveProperty('reason', expect.stringContaining(`its health probe ${reason}`));
    expect(JSON.stringify(verdict)).not.toContain('hunter2');
    expect(tookMs).toBeGreaterThanOrEqual(70_000);
    expect(tookMs).toBeLessThan(77_000);
  });

  test('waits for the probe no longer than the health timeout', async () => {
    const { verdict, tookMs } = await awaitHealth(
      {},
      { labels: { ...probe('tcp://:80'), 'upkeep.health-timeout': '20s' } },
    );
    expect(verdict.kind).toBe('failed');
    expect(tookMs).toBe(20_000);
  });

  test('asks the probe again when the health check is resumed, with time for it though the deadline has passed', async () => {
    const listens = [{ port: 80, afterMs: 303_000 }];
    const { verdict, tookMs } = await awaitHealth({ listens }, { labels: probe('tcp://:80'), upForMs: 300_000 });
    expect(verdict).toEqual({ kind: 'passed' });
    expect(tookMs).toBe(3000);
  });

  test('asks no probe before the HEALTHCHECK is content, and sees an end meanwhile', async () => {
    const healthcheck = { Test: ['CMD', 'true'], Interval: second, StartPeriod: 60 * second };
    const { verdict } = await awaitHealth(
      { health: { kind: 'healthy', afterMs: 25_000 }, exitsAfterMs: 30_000, exitCode: 5 },
      { healthcheck, labels: probe('tcp://:80') },
    );
    expect(verdict).toMatchObject({ reason: 'it exited with code 5', ownFault: true });
  });

  test('never passes what cannot be asked from here, and blames nobody', async () => {
    const { sandbox, registry, clock, startProcess } = createSandboxScene();
    registry.store.publish('app', { behaviour: { listens: [{ port: 80 }] } });
    await sandbox.engine.pullImage({ reference: 'app' });
    const id = sandbox.control.runContainer('app', { Image: 'app', Labels: probe('tcp://:80') });
    const { outside } = startProcess();
    const info = async () => ({ ...(await outside.engine.info()), containerReach: 'remote' as const });
    const far = { ...outside, engine: { ...outside.engine, info } };
    expect(await clock.run(() => passHealthCheck(far, settings, id))).toEqual({
      kind: 'failed',
      reason: 'its health probe tcp://:80 cannot be asked: the engine is on another host',
      ownFault: false,
      wasRunningAtFirst: true,
    });
  });

  describe('when the process is asked to end', () => {
    /** The verdict on a container whose process is asked to end after `atMs`, and the time from there to it. */
    async function leave(
      behaviour: Behaviour,
      labels: Record<string, string>,
      atMs: number,
      other: (engine: Engine, clock: Clock) => Partial<Engine> = () => ({}),
    ) {
      const { sandbox, registry, clock, startProcess } = createSandboxScene();
      const Healthcheck = { Test: ['CMD', 'true'], Interval: second, StartPeriod: 60 * second };
      registry.store.publish('app', { behaviour, ...(behaviour.health && { config: { Healthcheck } }) });
      await sandbox.engine.pullImage({ reference: 'app' });
      const id = sandbox.control.runContainer('app', { Image: 'app', Labels: labels });
      const { outside } = startProcess();
      const ending = new AbortController();
      const world = {
        ...outside,
        engine: { ...outside.engine, ...other(outside.engine, clock) },
        ending: ending.signal,
      };
      void clock.sleep(atMs).then(() => ending.abort());
      const verdict = await passHealthCheck(world, settings, id);
      return { verdict, tookMs: clock.monotonicMs() - atMs };
    }

    test.each([
      ['the window', {}, { 'upkeep.health-window': '10m' }],
      ['a HEALTHCHECK', { health: { kind: 'healthy', afterMs: 600_000 } }, { 'upkeep.health-timeout': '20m' }],
      ['a command that hangs', { commands: { ask: { hangs: true } } }, probe('exec:ask')],
      ['a command that is slow', { commands: { ask: { tookMs: 29_000, exitCode: 1 } } }, probe('exec:ask')],
      ['a page that does not answer', { listens: [{ port: 80 }] }, probe('http://:80/')],
      ['a port on which nothing listens', {}, probe('tcp://:80')],
    ] as const)('leaves %s after 4 s, without a verdict on the container', async (_, behaviour, labels) => {
      expect(await leave(behaviour, labels, 11_000)).toEqual({ verdict: { kind: 'left' }, tookMs: 4000 });
    });

    test('leaves a HEALTHCHECK that it runs itself', async () => {
      const runsNone = (engine: Engine, clock: Clock): Partial<Engine> => ({
        info: async () => ({
          ...(await engine.info()),
          abilities: { changesRestartPolicies: true, probesHealth: false },
        }),
        probeHealth: (__, signal) => clock.sleep(120_000, signal),
      });
      const behaviour = { health: { kind: 'healthy', afterMs: 600_000 } } as const;
      expect(await leave(behaviour, {}, 3000, runsNone)).toEqual({ verdict: { kind: 'left' }, tookMs: 4000 });
    });

    test('shares the 4 s among the waits that follow each other', async () => {
      const { clock } = createSandboxScene();
      const ending = new AbortController();
      const waitMs = async () => {
        const begunAtMs = clock.monotonicMs();
        const soon = endsSoon({ ending: ending.signal, clock });
        await clock.sleep(60_000, soon.signal).catch(() => undefined);
        soon.stop();
        return clock.monotonicMs() - begunAtMs;
      };
      ending.abort();
      expect(await waitMs()).toBe(4000);
      expect(await waitMs()).toBe(500);
    });

    test('still gives the verdict that comes within the 4 s', async () => {
      expect(await leave({}, {}, 7000)).toEqual({ verdict: { kind: 'passed' }, tookMs: 3000 });
      const { verdict, tookMs } = await leave({ exitsAfterMs: 9000, exitCode: 7 }, {}, 7000);
      expect(verdict).toMatchObject({ kind: 'failed', reason: 'it exited with code 7', ownFault: true });
      expect(tookMs).toBe(2000);
    });
  });

  describe('and the event stream', () => {
    async function watched(behaviour: Behaviour, events?: Engine['events']) {
      const { sandbox, registry, clock, startProcess } = createSandboxScene();
      registry.store.publish('app', { behaviour });
      await sandbox.engine.pullImage({ reference: 'app' });
      const id = sandbox.control.runContainer('app', { Image: 'app' });
      const { outside } = startProcess();
      const { engine, calls } = countCalls({ ...outside.engine, ...(events && { events }) });
      const begunAt = clock.monotonicMs();
      const verdict = await clock.run(() => passHealthCheck({ ...outside, engine }, settings, id));
      return { verdict, calls, tookMs: clock.monotonicMs() - begunAt };
    }
    async function* silence(signal: AbortSignal): AsyncGenerator<EngineEvent, void, undefined> {
      await new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      yield* [];
    }
    async function* deaf(signal: AbortSignal): AsyncGenerator<EngineEvent, void, undefined> {
      yield { kind: 'connected' };
      yield* silence(signal);
    }

    test('looks at the beginning and at the end of the window, not in between', async () => {
      const { verdict, calls, tookMs } = await watched({});
      expect(verdict).toEqual({ kind: 'passed' });
      expect(tookMs).toBe(10_000);
      expect(calls).toEqual({ inspectContainer: 3, info: 1, events: 1 });
    });

    test('looks at once when the container ends', async () => {
      const { verdict, calls, tookMs } = await watched({ exitsAfterMs: 4100, exitCode: 7 });
      expect(verdict).toMatchObject({ kind: 'failed', reason: 'it exited with code 7' });
      expect(tookMs).toBe(4100);
      expect(calls.inspectContainer).toBeLessThanOrEqual(4);
    });

    test('sees at the end of the window what no event has told', async () => {
      const { verdict, tookMs } = await watched({ exitsAfterMs: 4100, exitCode: 7 }, deaf);
      expect(verdict).toMatchObject({ kind: 'failed', reason: 'it exited with code 7', ownFault: true });
      expect(tookMs).toBe(10_000);
    });

    test.each<[string, Engine['events']]>([
      ['has not begun', silence],
      [
        'has failed',
        async function* () {
          yield { kind: 'connected' };
          throw new Error('broken');
        },
      ],
      [
        'has broken',
        async function* (signal, onBreak) {
          yield { kind: 'connected' };
          onBreak?.();
          yield* silence(signal);
        },
      ],
    ])('looks every 250 ms while the stream %s', async (_, events) => {
      const { verdict, calls, tookMs } = await watched({ exitsAfterMs: 4100, exitCode: 7 }, events);
      expect(verdict).toMatchObject({ kind: 'failed', reason: 'it exited with code 7', ownFault: true });
      expect(tookMs).toBe(4250);
      expect(calls.inspectContainer).toBeGreaterThanOrEqual(17);
    });

    test('closes the stream with the verdict', async () => {
      let closed: AbortSignal | undefined;
      await watched({}, (signal) => {
        closed = signal;
        return deaf(signal);
      });
      expect(closed?.aborted).toBe(true);
    });
  });

  test("takes the container's own window from its labels", async () => {
    expect((await awaitHealth({}, { labels: { 'upkeep.health-window': '30s' } })).tookMs).toBe(30_000);
  });
});

describe('healthDeadlineMs()', () => {
  const none = { healthTimeoutMs: undefined, ignoresHealthcheck: false };

  test('is the start period, all tries and one more, and 10 s, with the defaults of the engine; at least 100 s', () => {
    expect(healthDeadlineMs({ Test: ['CMD', 'true'] }, none)).toBe(60_000 * 4 + 10_000);
    expect(
      healthDeadlineMs(
        { Test: ['CMD', 'true'], Interval: second, Timeout: 2 * second, Retries: 1, StartPeriod: 5 * second },
        none,
      ),
    ).toBe(100_000);
    expect(
      healthDeadlineMs(
        { Test: ['CMD', 'true'], Interval: second, Timeout: 2 * second, Retries: 9, StartPeriod: 90 * second },
        none,
      ),
    ).toBe(90_000 + 30_000 + 10_000);
  });

  test.each([undefined, null, {}, { Test: [] }, { Test: ['NONE'] }])(
    'is nothing without a HEALTHCHECK: %j',
    (healthcheck) => {
      expect(healthDeadlineMs(healthcheck, none)).toBe(0);
    },
  );

  test('is an hour at most, whatever the image asks for', () => {
    expect(healthDeadlineMs({ Test: ['CMD', 'true'], StartPeriod: 3650 * 86_400 * second }, none)).toBe(3_600_000);
  });

  test('is what the settings say, where they say it', () => {
    expect(healthDeadlineMs({ Test: ['CMD', 'true'] }, { ...none, healthTimeoutMs: 5000 })).toBe(5000);
  });

  test('is nothing where the HEALTHCHECK does not count', () => {
    expect(healthDeadlineMs({ Test: ['CMD', 'true'] }, { healthTimeoutMs: 5000, ignoresHealthcheck: true })).toBe(0);
  });
});
