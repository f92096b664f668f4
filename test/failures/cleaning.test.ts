import { describe, expect, test } from 'vitest';
import { setStage } from './rig/stage.ts';

/** What goes wrong around old images. */

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
    expect(connection.calls.map(({ kind }) => kind)).not.toContain('removeImage');
    stage.scene.sandbox.control.startContainer('sleeper');
    expect(stage.now('sleeper').running).toBe(true);
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
    expect(connection.calls.map(({ kind }) => kind)).not.toContain('removeImage');
    expect(stage.scene.sandbox.control.snapshot().imageIds).toContain(stage.before.get('two')!.imageId);
    expect(stage.harm()).toEqual([]);
  });
});
