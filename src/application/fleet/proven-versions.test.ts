import { describe, expect, onTestFinished, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { makeCosignKey } from '../../../test/support/registry/cosign.ts';
import { createFleetScene, type FleetSceneOptions } from '../../../test/support/scene/fleet-scene.ts';
import { readVerificationKeys } from '../../adapters/process/verification-keys.ts';
import { failedVersionTag } from '../../domain/check/known-versions.ts';
import { parseWaves } from '../../domain/waves.ts';

const minute = 60_000;
const image = 'registry.test/app';
const built = (day: number) => Date.UTC(2026, 5, day);

/**
 * `canary` runs the second version for longer than the pause, `web` the first one. The registry has a third one.
 */
async function openScene(labels: Readonly<Record<string, string>>, options: Partial<FleetSceneOptions> = {}) {
  const clock = createFakeClock({ auto: true });
  const steps = parseWaves('canary');
  if ('fault' in steps) throw new Error(steps.fault);
  const waves = { steps, pauseMs: 10 * minute };
  const scene = createFleetScene({ names: ['canary', 'web'], clock, waves, ...options });
  onTestFinished(() => scene.close());
  const { store } = scene.registry;
  const publish = (tag: string, version: string, day: number) =>
    store.publish(`${image}:${tag}`, { version, createdAtMs: built(day) });
  async function update(): Promise<string> {
    const { containers } = await scene.application.update({
      images: [],
      containers: [],
      engines: ['web'],
      trigger: 'http',
    });
    return containers.map(({ outcome, reason, newDigest }) => `${outcome} ${reason || newDigest}`).join();
  }
  const start = (engine: string, tag: string) => scene.run(engine, 'app', `${image}:${tag}`, labels);
  const running = () => scene.engines['web']?.sandbox.control.snapshot().containers['app']?.settings.Config.Image;
  return { ...scene, clock, publish, update, start, running };
}

describe('the version that earlier waves run, if the registry has a newer one', () => {
  test('is not used without the signature that the container needs', async () => {
    const key = makeCosignKey('team');
    const scene = await openScene({}, { verificationKeys: await readVerificationKeys([key.file]) });
    const { store } = scene.registry;
    scene.publish('1', 'one', 1);
    await scene.start('web', '1');
    const second = scene.publish('1', 'two', 2).digest;
    await scene.start('canary', '1');
    const third = scene.publish('1', 'three', 3).digest;
    store.sign(`${image}@${third}`, key.signImage(third, image));
    await scene.clock.sleep(11 * minute);
    expect(await scene.update()).toMatch(/not signed by "team"/);
    store.sign(`${image}@${second}`, key.signImage(second, image));
    expect(await scene.update()).toBe(`updated ${second}`);
  });

  test('is not tried again in a container in which it failed', async () => {
    const scene = await openScene({});
    const first = scene.publish('1', 'one', 1);
    await scene.start('web', '1');
    const second = scene.publish('1', 'two', 2);
    await scene.start('canary', '1');
    scene.publish('1', 'three', 3);
    await scene.clock.sleep(11 * minute);
    if (first.kind !== 'image' || second.kind !== 'image') throw new Error('with an index');
    const tag = failedVersionTag('app', second.image.id, scene.clock.nowMs()) ?? '';
    await scene.engines['web']?.sandbox.engine.tagImage(first.image.id, tag);
    for (const _ of [1, 2]) expect(await scene.update()).toMatch(/^skipped .*failed here/);
  });

  test('is not used before the cooldown of the container, while an earlier one is old enough', async () => {
    const scene = await openScene({ 'upkeep.cooldown-delay': '48h' });
    const publish = (version: string) =>
      scene.registry.store.publish(`${image}:1`, { version, createdAtMs: scene.clock.nowMs() });
    publish('one');
    await scene.start('web', '1');
    await scene.clock.sleep(minute);
    publish('two');
    await scene.update();
    await scene.clock.sleep(60 * 60 * minute);
    publish('three');
    await scene.update();
    await scene.clock.sleep(40 * 60 * minute);
    publish('four');
    await scene.run('canary', 'app', `${image}:1`);
    await scene.clock.sleep(11 * minute);
    expect(await scene.update()).toMatch(/^deferred .*but too young: first seen/);
    await scene.clock.sleep(48 * 60 * minute);
    expect(await scene.update()).toMatch(/^updated/);
  });

  test('is not used under the name of another tag', async () => {
    const scene = await openScene({ 'upkeep.policy': 'minor' });
    scene.publish('1.0', 'one', 1);
    await scene.start('web', '1.0');
    scene.publish('1.1', 'two', 2);
    await scene.start('canary', '1.1');
    scene.publish('1.2', 'three', 3);
    await scene.clock.sleep(11 * minute);
    expect(await scene.update()).toMatch(/^deferred Waits for "canary"/);
    expect(scene.running()).toBe(`${image}:1.0`);
  });

  test('is proven by a container with that tag, also if a tag that is still too young is higher', async () => {
    const scene = await openScene({ 'upkeep.policy': 'minor', 'upkeep.cooldown-delay': '48h' });
    const publish = (tag: string, hoursAgo: number) => {
      const createdAtMs = scene.clock.nowMs() - hoursAgo * 60 * minute;
      scene.registry.store.publish(`${image}:${tag}`, { version: tag, createdAtMs });
    };
    for (const tag of ['15.1', '15.2']) publish(tag, 72);
    await scene.start('web', '15.1');
    publish('15.3', 0);
    await scene.start('canary', '15.2');
    expect(await scene.update()).toMatch(/^deferred Waits for "canary", which has run it for 0 of 10 minutes/);
    await scene.clock.sleep(11 * minute);
    expect(await scene.update()).toMatch(/^updated/);
    expect(scene.running()).toBe(`${image}:15.2`);
  });

  test('is awaited where a container may move to it, also if a tag that is still too young is higher', async () => {
    const scene = await openScene({ 'upkeep.policy': 'minor', 'upkeep.cooldown-delay': '48h' });
    const publish = (tag: string, hoursAgo: number) => {
      const createdAtMs = scene.clock.nowMs() - hoursAgo * 60 * minute;
      scene.registry.store.publish(`${image}:${tag}`, { version: tag, createdAtMs });
    };
    for (const tag of ['15.0', '15.1', '15.2']) publish(tag, 72);
    publish('15.3', 0);
    await scene.start('canary', '15.0');
    await scene.start('web', '15.1');
    expect(await scene.update()).toMatch(/^deferred Waits for "canary" to run the same new version/);
    expect(scene.running()).toBe(`${image}:15.1`);
  });

  test('concerns no container of another line of versions in the same repository', async () => {
    const scene = await openScene({ 'upkeep.policy': 'minor' });
    for (const tag of ['15.1', '15.2', '16.1']) scene.publish(tag, tag, 1);
    await scene.start('web', '15.1');
    await scene.start('canary', '15.2');
    await scene.run('canary', 'other', `${image}:16.1`, { 'upkeep.policy': 'minor' });
    expect(await scene.update()).toMatch(/^deferred Waits for "canary", which has run it for 0 of 10 minutes/);
    await scene.clock.sleep(11 * minute);
    expect(await scene.update()).toMatch(/^updated/);
    expect(scene.running()).toBe(`${image}:15.2`);
  });
});
