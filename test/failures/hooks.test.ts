import { describe, expect, test } from 'vitest';
import type { CommandBehaviour } from '../../sandbox/base/behaviour.ts';
import { summarise } from '../../src/domain/run/session.ts';
import { dependsOn, everything, setStage } from './rig/stage.ts';

/** Failures of containers' hooks around their update. */

const commands: Readonly<Record<string, CommandBehaviour>> = {
  good: {},
  later: { exitCode: 75 },
  bad: { exitCode: 3 },
  slow: { tookMs: 400_000 },
  hangs: { hangs: true },
};
const behaviour = { commands };
const settings = { lifecycleHooks: true };

/** A container with a hook, and with more labels. */
const hooked = (hook: string, command: string, more: Readonly<Record<string, string>> = {}) => ({
  body: { Labels: { [`upkeep.lifecycle.${hook}`]: command, ...more } },
  old: { behaviour },
  next: { behaviour },
});

describe('lifecycle hooks', () => {
  test.each([
    ['ends with code 3', 'bad', 'failed', 'ended with code 3'],
    ['does not end in time', 'hangs', 'failed', 'did not end within 1m'],
    ['asks to wait', 'later', 'deferred', 'asks to wait'],
  ])(
    'failure 8: a pre-update hook %s: nothing is touched, what depends on it waits, the others are updated',
    async (_how, command, outcome, why) => {
      const stage = await setStage({ db: hooked('pre-update', command), app: { body: dependsOn('db') }, web: {} });
      const { outcomes, of, connection } = await stage.update({ settings });
      expect(outcomes).toEqual({ db: outcome, app: 'skipped', web: 'updated' });
      expect(of('db').reason).toContain(why);
      const stopped = connection.calls.filter(({ kind }) => kind === 'stopContainer').map(({ target }) => target);
      expect(stopped).toEqual(['web.upkeep-old-e']);
      expect([stage.isReplaced('db'), stage.isReplaced('app')]).toEqual([false, false]);
      expect(stage.harm()).toEqual([]);
    },
  );

  test('failure 18: a post-update hook fails: the new version stays, and the report says so', async () => {
    const stage = await setStage({ web: hooked('post-update', 'bad') });
    const { outcomes, of } = await stage.update({ settings });
    expect(outcomes).toEqual({ web: 'updated' });
    expect(of('web').reason).toContain('post-update hook of "web" ended with code 3');
    expect(stage.harm()).toEqual([]);
  });

  test.each(['pre-check', 'pre-update', 'post-update', 'post-check'])(
    'failure 38: a %s hook hangs: it is given up, the others are updated, and the next run is let in',
    async (hook) => {
      const stage = await setStage({ stuck: hooked(hook, 'hangs'), web: {} });
      const begunMs = stage.scene.clock.monotonicMs();
      const life = stage.live({ settings });
      const first = await life.application.update(everything);
      expect(first.containers.find(({ name }) => name === 'web')?.outcome).toBe('updated');
      expect(stage.scene.clock.monotonicMs() - begunMs).toBeLessThan(65_000);
      await life.application.update(everything);
      expect(stage.harm()).toEqual([]);
    },
  );

  test('pitfall 3: a hook that asks to wait (75) has not failed: it counts as skipped', async () => {
    const stage = await setStage({ web: hooked('pre-update', 'later') });
    const { outcomes, session, events } = await stage.update({ settings });
    expect(outcomes).toEqual({ web: 'deferred' });
    expect(summarise(session)).toMatchObject({ failed: 0, skipped: 1 });
    expect(events.at(-1)).toMatchObject({ kind: 'scan_completed', failed: 0, skipped: 1 });
  });

  test.each(['pre-check', 'post-check'])(
    'pitfall 13: a %s hook has the time that its label gives it, and however it ends the run goes on',
    async (hook) => {
      const label = `upkeep.lifecycle.${hook}-timeout`;
      for (const [minutes, leastMs, maxMs] of [
        ['2', 120_000, 130_000],
        ['5', 300_000, 310_000],
      ] as const) {
        const stage = await setStage({ web: hooked(hook, 'hangs', { [label]: minutes }) });
        const begunMs = stage.scene.clock.monotonicMs();
        const { outcomes } = await stage.update({ settings });
        const tookMs = stage.scene.clock.monotonicMs() - begunMs;
        expect(outcomes).toEqual({ web: 'updated' });
        expect(tookMs).toBeGreaterThanOrEqual(leastMs);
        expect(tookMs).toBeLessThan(maxMs);
      }
    },
  );

  test('pitfall 14: a post-update hook has the whole time that its label gives it, beyond five minutes', async () => {
    const stage = await setStage({
      web: hooked('post-update', 'slow', { 'upkeep.lifecycle.post-update-timeout': '10' }),
    });
    const { outcomes, of } = await stage.update({ settings });
    expect(outcomes).toEqual({ web: 'updated' });
    expect(of('web').reason).toBe('');
    expect(stage.scene.sandbox.control.executions).toHaveLength(1);
  });

  test('pitfall 19: a hook may ask for user 0', async () => {
    const stage = await setStage({ web: hooked('pre-update', 'good', { 'upkeep.lifecycle.uid': '0' }) });
    await stage.update({ settings: { ...settings, lifecycleUserId: 1000 } });
    expect(stage.scene.sandbox.control.executions).toMatchObject([{ container: 'web', user: '0' }]);
  });
});
