import { describe, expect, test } from 'vitest';
import { createSandboxScene } from '../../test/support/sandbox-outside.ts';
import type { Behaviour } from '../adapters/sandbox/behaviour.ts';
import type { Healthcheck } from '../domain/container.ts';
import type { Engine } from '../domain/outside.ts';
import { defaultSettings } from '../domain/settings.ts';
import { healthDeadlineMs, passGate } from './health.ts';

const settings = { ...defaultSettings, gateWindowMs: 10_000 };
const second = 1_000_000_000;

async function gate(
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
  const verdict = await clock.run(() => passGate(startProcess().outside, settings, id));
  return { verdict, tookMs: clock.monotonicMs() - begunAt };
}

describe('passGate()', () => {
  test('passes a container without HEALTHCHECK that is up for the whole window', async () => {
    expect(await gate({})).toEqual({ verdict: { kind: 'passed' }, tookMs: 10_000 });
  });

  test('counts the time that it has been up already, as after a crash of ours', async () => {
    expect(await gate({}, { upForMs: 7000 })).toEqual({ verdict: { kind: 'passed' }, tookMs: 3000 });
  });

  test('fails one that ends within the window, with its exit code', async () => {
    const { verdict } = await gate({ exitsAfterMs: 4000, exitCode: 7 });
    expect(verdict).toMatchObject({ kind: 'failed', reason: 'it exited with code 7', ownFault: true });
  });

  test('waits for the first healthy probe, longer than the window if need be', async () => {
    const { verdict, tookMs } = await gate(
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
    expect(await clock.run(() => passGate({ ...outside, engine }, settings, id))).toEqual({ kind: 'passed' });
    const pauses = probedAt.slice(1).map((at, index) => at - (probedAt[index] ?? 0));
    expect(pauses.length).toBeGreaterThan(2);
    for (const pause of pauses) expect(pause).toBeGreaterThanOrEqual(2000);
  });

  test('fails one that is unhealthy as soon as the engine says so', async () => {
    const { verdict, tookMs } = await gate(
      { health: { kind: 'unhealthy' } },
      { healthcheck: { Test: ['CMD', 'true'], Interval: second, Retries: 2 } },
    );
    expect(verdict).toMatchObject({ kind: 'failed', ownFault: true });
    expect(tookMs).toBeLessThan(5000);
  });

  test("takes the container's own window from its labels", async () => {
    expect((await gate({}, { labels: { 'upkeep.health-window': '30s' } })).tookMs).toBe(30_000);
  });
});

describe('healthDeadlineMs()', () => {
  const none = { gateTimeoutMs: undefined };

  test('is the start period, all tries and one more, and 10 s, with the defaults of the engine', () => {
    expect(healthDeadlineMs({ Test: ['CMD', 'true'] }, none)).toBe(60_000 * 4 + 10_000);
    expect(
      healthDeadlineMs(
        { Test: ['CMD', 'true'], Interval: second, Timeout: 2 * second, Retries: 1, StartPeriod: 5 * second },
        none,
      ),
    ).toBe(5000 + 6000 + 10_000);
  });

  test.each([undefined, null, {}, { Test: [] }, { Test: ['NONE'] }])(
    'is nothing without a HEALTHCHECK: %j',
    (healthcheck) => {
      expect(healthDeadlineMs(healthcheck, none)).toBe(0);
    },
  );

  test('is what the settings say, where they say it', () => {
    expect(healthDeadlineMs({ Test: ['CMD', 'true'] }, { gateTimeoutMs: 5000 })).toBe(5000);
  });
});
