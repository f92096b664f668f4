import { describe, expect, test } from 'vitest';
import type { SandboxCall } from '../../sandbox/engine/calls.ts';
import { setStage, type Stage } from './rig/stage.ts';

/** Failures around old images. */

/** The removal of an image, not of a tag that Upkeep uses as a note. */
function isCleanUp({ kind, target }: Pick<SandboxCall, 'kind' | 'target'>): boolean {
  return kind === 'removeImage' && target.startsWith('sha256:');
}

describe('--cleanup', () => {
  test.each([
    'failure 36: a stopped container uses the old image',
    'pitfall 20: an exited container uses the old image',
  ])('%s: it stays', async (what) => {
    const image = 'app:1';
    const stage = await setStage({ web: { image }, sleeper: { image, stopped: what.startsWith('failure') } });
    if (!what.startsWith('failure')) await stage.scene.sandbox.control.stopContainer('sleeper');
    const { outcomes, events, connection } = await stage.update({ settings: { cleanup: true } });
    expect(outcomes).toEqual({ web: 'updated' });
    const { imageId } = stage.now('sleeper');
    expect(stage.scene.sandbox.control.snapshot().imageIds).toContain(imageId);
    expect(events.map(({ kind }) => kind)).not.toContain('image_cleanup');
    expect(connection.calls.filter(isCleanUp)).toEqual([]);
    stage.scene.sandbox.control.startContainer('sleeper');
    expect(stage.now('sleeper').running).toBe(true);
  });

  describe('failure 40: the updater is killed before it has cleaned up', () => {
    const settings = { cleanup: true };
    const kill = {
      settings,
      faults: [{ at: isCleanUp, fault: { kind: 'crash', when: 'before' } }],
    } as const;
    const held = (stage: Stage, imageId = '') => stage.scene.sandbox.control.snapshot().imageIds.includes(imageId);

    test('the next run removes what was replaced, and only with --cleanup', async () => {
      const stage = await setStage({ web: {}, idle: { next: 'none' } });
      await stage.updateKilled(kill);
      const old = stage.before.get('web')?.imageId;
      expect(held(stage, old)).toBe(true);
      await stage.update();
      await stage.update({ settings: { cleanup: true, monitorOnly: true } });
      await stage.update({ settings, request: { containers: ['idle'] } });
      expect(held(stage, old)).toBe(true);
      const { events, outcomes } = await stage.update({ settings });
      expect(outcomes).toEqual({ web: 'fresh', idle: 'fresh' });
      expect(held(stage, old)).toBe(false);
      expect(events.find(({ kind }) => kind === 'image_cleanup')).toMatchObject({
        images: [{ imageId: old, imageName: 'web:1', containerName: 'web' }],
      });
      expect(stage.harm()).toEqual([]);
    });

    test('also where the next run brings another version', async () => {
      const stage = await setStage({ web: {} });
      await stage.updateKilled(kill);
      const second = stage.now('web').imageId;
      stage.scene.registry.store.publish('web:1', { version: 'newest' });
      expect((await stage.update({ settings })).outcomes).toEqual({ web: 'updated' });
      expect([held(stage, stage.before.get('web')?.imageId), held(stage, second)]).toEqual([false, false]);
    });

    test('what someone uses or has tagged stays', async () => {
      const stage = await setStage({ web: {} });
      await stage.updateKilled(kill);
      const old = stage.before.get('web')?.imageId ?? '';
      await stage.scene.sandbox.engine.tagImage(old, 'mine:kept');
      await stage.update({ settings });
      expect(held(stage, old)).toBe(true);
    });
  });

  test('failure 37: a sibling with the same old image failed: it stays', async () => {
    const image = 'app:1';
    const stage = await setStage({ one: { image }, two: { image } });
    const { outcomes, connection } = await stage.update({
      settings: { cleanup: true },
      faults: [
        {
          at: ({ kind, target }) => kind === 'createContainer' && target.startsWith('two'),
          fault: { kind: 'refuse', status: 400, message: 'bad option' },
        },
      ],
    });
    expect(outcomes).toEqual({ one: 'updated', two: 'failed' });
    expect(connection.calls.filter(isCleanUp)).toEqual([]);
    expect(stage.scene.sandbox.control.snapshot().imageIds).toContain(stage.before.get('two')!.imageId);
    expect(stage.harm()).toEqual([]);
  });
});
