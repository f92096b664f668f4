import { describe, expect, test } from 'vitest';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { Behaviour } from '../../../sandbox/base/behaviour.ts';
import type { Application } from '../application.ts';
import { createApplication } from '../create-application.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';

const day = 86_400_000;
const image = 'app:nightly';

type Life = {
  readonly scene: SandboxScene;
  readonly application: Application;
  /** Of the image that the container runs. */
  readonly running: () => Promise<string>;
  /** Publishes a release, built now or at a given date. */
  readonly release: (version: string, createdAtMs?: number, behaviour?: Behaviour) => void;
  /** Runs an update and returns the container's outcome. */
  readonly run: () => Promise<string>;
};

/** A container under a cooldown of three days. */
async function begin(): Promise<Life> {
  const scene = createSandboxScene();
  const { sandbox, registry, clock } = scene;
  const release: Life['release'] = (version, createdAtMs = clock.nowMs(), behaviour = {}) => {
    const config = { Labels: { version } };
    registry.store.publish(image, { version, createdAtMs, config, behaviour });
  };
  release('0', clock.nowMs() - 30 * day);
  await sandbox.engine.pullImage({ reference: image });
  sandbox.control.runContainer('web', { Image: image });
  const settings = { ...defaultSettings, healthWindowMs: 1000, cooldownMs: 3 * day };
  const application = createApplication(scene.startProcess().outside, settings);
  return {
    scene,
    application,
    release,
    running: async () => {
      const web = (await sandbox.engine.inspectContainer('web'))!;
      return (await sandbox.engine.inspectImage(web.imageId))?.config.Labels?.['version'] ?? '';
    },
    run: async () => {
      const { containers } = await application.update({ trigger: 'schedule', images: [], containers: [] });
      return containers[0]?.outcome ?? '';
    },
  };
}

describe('a cooldown', () => {
  test('of a tag that rests ends when the image has been out for so long', async () => {
    const { scene, release, run, running } = await begin();
    await run();
    release('1');
    expect(await run()).toBe('deferred');
    await scene.clock.advance(2 * day);
    expect(await run()).toBe('deferred');
    await scene.clock.advance(day);
    expect(await run()).toBe('updated');
    expect(await running()).toBe('1');
  });

  test('counts from when an image was seen to come, though it was built long before', async () => {
    const { scene, release, run } = await begin();
    await run();
    release('1', scene.clock.nowMs() - 20 * day);
    expect(await run()).toBe('deferred');
    await scene.clock.advance(3 * day);
    expect(await run()).toBe('updated');
  });

  test('of what was there at the start counts from its build, so that a new start begins nothing anew', async () => {
    const { scene, release, run } = await begin();
    release('1', scene.clock.nowMs() - 4 * day);
    expect(await run()).toBe('updated');
  });

  test.each([
    ['without a date', 0],
    ['from the future', Date.UTC(2100, 0, 1)],
  ])('of an image %s counts from when it was first seen', async (_what, createdAtMs) => {
    const { scene, release, run } = await begin();
    release('1', createdAtMs);
    expect(await run()).toBe('deferred');
    await scene.clock.advance(3 * day);
    expect(await run()).toBe('updated');
  });

  test('is neither ended nor begun anew by a clock that is set', async () => {
    const { scene, release, run } = await begin();
    await run();
    release('1');
    await run();
    scene.clock.jumpWallClock(400 * day);
    expect(await run()).toBe('deferred');
    scene.clock.jumpWallClock(-900 * day);
    expect(await run()).toBe('deferred');
    await scene.clock.advance(3 * day);
    expect(await run()).toBe('updated');
  });

  test('of a tag that moves every day is at last updated to what has been out for so long, again and again', async () => {
    const { scene, release, run, running } = await begin();
    await run();
    const applied: string[] = [];
    for (let today = 1; today <= 14; today += 1) {
      await scene.clock.advance(day);
      release(String(today));
      if ((await run()) === 'updated') applied.push(`day ${today}: release ${await running()}`);
    }
    expect(applied).toEqual(['day 7: release 4', 'day 11: release 8']);
  });

  test('does not try an earlier image again that has failed here', async () => {
    const { scene, release, run, running } = await begin();
    await run();
    const outcomes: string[] = [];
    for (let today = 1; today <= 8; today += 1) {
      await scene.clock.advance(day);
      release(String(today), undefined, today === 4 ? { exitsAfterMs: 10, exitCode: 3 } : {});
      outcomes.push(await run());
      if (today === 7) outcomes.push(await run());
    }
    expect(outcomes.slice(6)).toEqual(['rolled_back', 'deferred', 'updated']);
    expect(await running()).toBe('5');
  });

  test('that lets an earlier image in still knows of the newest', async () => {
    const { scene, application, release, run } = await begin();
    await application.follow();
    await run();
    for (let today = 1; today <= 7; today += 1) {
      await scene.clock.advance(day);
      release(String(today));
      await run();
    }
    await scene.clock.advance(60_000);
    const [web] = application.inventory().containers;
    expect(web).toMatchObject({ name: 'web', staleness: 'held', updateAvailable: true, stale: false });
    await application.close();
  });

  test('never goes back: an earlier release than what runs is not applied', async () => {
    const { scene, release, run, running } = await begin();
    const { sandbox, clock } = scene;
    const tomorrow = async (version: string) => {
      await clock.advance(day);
      release(version);
      await run();
    };
    await run();
    for (const version of ['1', '2', '3']) await tomorrow(version);
    release('by hand');
    await sandbox.engine.pullImage({ reference: image });
    await sandbox.engine.removeContainer((await sandbox.engine.inspectContainer('web'))!.id);
    sandbox.control.runContainer('web', { Image: image });
    const runs: string[] = [];
    for (const version of ['4', '5', '6', '7']) {
      await tomorrow(version);
      runs.push(await running());
    }
    expect(runs).toEqual(['by hand', 'by hand', 'by hand', '4']);
  });
});
