import { describe, expect, test } from 'vitest';
import { createCommandScene } from '../../../../test/support/command-scene.ts';
import { containerOutcome, session } from '../../../../test/support/fake-application.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { run } from './run.ts';

const everything = { images: [], containers: [] };

describe('run()', () => {
  test('with --run-once repairs, updates once and ends with the outcome', async () => {
    const failed = containerOutcome('web', { outcome: 'rolled_back', reason: 'x' });
    const scene = createCommandScene(['run', '--run-once'], { update: () => session([failed]) });
    expect(await run(scene.context)).toBe(1);
    expect(scene.application.asked).toEqual([
      ['recover', undefined],
      ['update', { ...everything, trigger: 'start' }],
    ]);
    expect(scene.fake.out()).toBe('');
    expect(scene.application.listeners()).toBe(0);
  });

  test('updates every interval, from begin to begin, and ends with 0 when asked to stop', async () => {
    const times: number[] = [];
    const scene = createCommandScene(['run', '--interval', '1h'], {
      update: async () => {
        times.push(scene.clock.monotonicMs());
        await scene.clock.sleep(60_000);
        return session([]);
      },
    });
    const code = run(scene.context);
    await scene.clock.advance(3 * 3_600_000 + 120_000);
    scene.interrupt.abort();
    expect(await code).toBe(0);
    expect(times).toEqual([3_600_000, 7_200_000, 10_800_000]);
    expect(scene.clock.sleepers()).toBe(0);
    expect(scene.logged.find(([, message]) => message === 'Next update in 59m')).toBeDefined();
  });

  test('with --update-on-start does not wait for the first interval', async () => {
    const scene = createCommandScene(['run', '--update-on-start']);
    const code = run(scene.context);
    await scene.clock.advance(0);
    scene.interrupt.abort();
    await code;
    expect(scene.application.asked).toEqual([
      ['recover', undefined],
      ['update', { ...everything, trigger: 'start' }],
    ]);
  });

  test('an update that fails as a whole does not end the service, a bug does', async () => {
    let failure: Error = new ServiceError('engine-unreachable', 'Cannot reach the engine: gone');
    const scene = createCommandScene(['run', '--interval', '1h'], { update: () => Promise.reject(failure) });
    const code = run(scene.context);
    await scene.clock.advance(3_600_000);
    expect(scene.application.asked).toHaveLength(2);
    failure = new TypeError('bug');
    const ended = expect(code).rejects.toThrow('bug');
    await scene.clock.advance(3_600_000);
    await ended;
  });

  test('asked to stop in the middle of an update, it lets the update end it', async () => {
    const scene = createCommandScene(['run', '--update-on-start'], {
      update: async (_application, signal) => {
        await scene.clock.sleep(10_000);
        expect(signal?.aborted).toBe(true);
        return session([]);
      },
    });
    const code = run(scene.context);
    await scene.clock.advance(1000);
    scene.interrupt.abort();
    await scene.clock.advance(9000);
    expect(await code).toBe(0);
  });

  test('what happens is in the log', async () => {
    const scene = createCommandScene(['run', '--run-once'], {
      update: (application) => {
        application.publish({ kind: 'scan_started', runId: '1', purpose: 'update', trigger: 'start', atMs: 0 });
        const counts = { scanned: 3, updated: 1, failed: 1, restarted: 0, skipped: 1 };
        application.publish({
          kind: 'scan_completed',
          runId: '1',
          purpose: 'update',
          ...counts,
          session: undefined,
          atMs: 0,
        });
        application.publish({
          kind: 'scan_skipped',
          trigger: 'schedule',
          reason: 'another update is running',
          atMs: 0,
        });
        return session([]);
      },
    });
    await run(scene.context);
    expect(scene.logged).toEqual([
      ['info', 'Checking for updates', { event: 'scan_started', runId: '1', purpose: 'update', trigger: 'start' }],
      ['warn', '3 containers checked, 1 updated, 1 failed', expect.objectContaining({ scanned: 3, skipped: 1 })],
      [
        'warn',
        'another update is running',
        { event: 'scan_skipped', trigger: 'schedule', reason: 'another update is running' },
      ],
    ]);
  });
});
