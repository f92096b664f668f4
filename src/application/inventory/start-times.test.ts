import { describe, expect, onTestFinished, test } from 'vitest';
import { countCalls } from '../../../test/support/engine/counted-engine.ts';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { Engine } from '../../domain/outside/outside.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';

/** Containers `app-0`, `app-1`, … */
async function createScene(count: number): Promise<SandboxScene> {
  const scene = createSandboxScene();
  scene.registry.store.publish('app:1', { version: '1' });
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  for (let index = 0; index < count; index += 1) scene.sandbox.control.runContainer(`app-${index}`, { Image: 'app:1' });
  return scene;
}

async function follow(scene: SandboxScene, more: Partial<Engine> = {}) {
  const { outside } = scene.startProcess();
  const { engine, calls } = countCalls({ ...outside.engine, ...more });
  const settings = { ...defaultSettings, includeStopped: true };
  const application = createApplication({ ...outside, engine }, settings, {}, { tellsStartTimes: true });
  onTestFinished(() => application.close());
  await application.follow();
  await scene.clock.sleep(soonMs);
  return {
    calls,
    times: () => application.inventory().containers.map(({ startedAtMs }) => startedAtMs),
    revision: () => application.inventory().revision,
  };
}

const soonMs = 100;

async function engineTimes({ sandbox }: SandboxScene): Promise<readonly number[]> {
  const listed = await sandbox.engine.listContainers();
  const containers = await Promise.all(listed.map(({ id }) => sandbox.engine.inspectContainer(id)));
  return containers.map((container) => Date.parse(container?.state.startedAt ?? ''));
}

describe('the start times of the inventory', () => {
  test('are those of the engine, for one inspection each', async () => {
    const scene = await createScene(3);
    const { calls, times } = await follow(scene);
    expect(times()).toEqual(await engineTimes(scene));
    await scene.clock.sleep(600_000);
    times();
    expect(calls.inspectContainer).toBe(3);
  });

  test('follow a start, for one inspection more, and cost a read nothing', async () => {
    const scene = await createScene(2);
    const { calls, times, revision } = await follow(scene);
    const [before, beforeRevision] = [times(), revision()];
    await scene.clock.sleep(5000);
    await scene.sandbox.control.stopContainer('app-0', 0);
    scene.sandbox.control.startContainer('app-0');
    await scene.clock.sleep(soonMs);
    expect(times()).toEqual(await engineTimes(scene));
    expect(times()[0]).toBe(before[0]);
    expect(times()[1]).toBeGreaterThan(before[1] ?? Infinity);
    expect(revision()).toBeGreaterThan(beforeRevision);
    expect(calls.inspectContainer).toBe(3);
  });

  test('are absent for a container that does not run', async () => {
    const scene = await createScene(1);
    scene.sandbox.control.addContainer('new', { Image: 'app:1' });
    const { calls, times } = await follow(scene);
    expect(times()).toEqual([undefined, expect.any(Number)]);
    await scene.sandbox.control.stopContainer('app-0', 0);
    await scene.clock.sleep(soonMs);
    expect(times()).toEqual([undefined, undefined]);
    expect(calls.inspectContainer).toBe(1);
  });

  test('are not those from before a start that came during the inspection', async () => {
    const scene = await createScene(1);
    const { engine } = scene.startProcess().outside;
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    let inspections = 0;
    const inspectContainer: Engine['inspectContainer'] = async (id, signal) => {
      const container = await engine.inspectContainer(id, signal);
      if ((inspections += 1) === 1) await held;
      return container;
    };
    const { times } = await follow(scene, { inspectContainer });
    await scene.clock.sleep(5000);
    await scene.sandbox.control.stopContainer('app-0', 0);
    scene.sandbox.control.startContainer('app-0');
    await scene.clock.sleep(soonMs);
    release();
    await scene.clock.sleep(soonMs);
    expect(times()).toEqual(await engineTimes(scene));
  });

  test('are found anew where a start went unheard, because the events broke off', async () => {
    const scene = await createScene(1);
    let reconnect = () => {};
    const broken = new Promise<void>((resolve) => (reconnect = resolve));
    const events: Engine['events'] = async function* (signal) {
      yield { kind: 'connected' };
      await broken;
      yield { kind: 'connected' };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    };
    const { times } = await follow(scene, { events });
    const before = times();
    await scene.clock.sleep(60_000);
    await scene.sandbox.control.stopContainer('app-0', 0);
    scene.sandbox.control.startContainer('app-0');
    await scene.clock.sleep(70_000);
    expect(times()).toEqual(before);
    reconnect();
    await scene.clock.sleep(soonMs);
    expect(times()).toEqual(await engineTimes(scene));
    expect(times()).not.toEqual(before);
  });

  test('are found a little later where the events broke off a moment after the inspection', async () => {
    const scene = await createScene(1);
    let reconnect = () => {};
    const broken = new Promise<void>((resolve) => (reconnect = resolve));
    const events: Engine['events'] = async function* (signal) {
      yield { kind: 'connected' };
      await broken;
      yield { kind: 'connected' };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    };
    const { calls, times } = await follow(scene, { events });
    await scene.sandbox.control.stopContainer('app-0', 0);
    scene.sandbox.control.startContainer('app-0');
    await scene.clock.sleep(1000);
    reconnect();
    await scene.clock.sleep(11_000);
    expect(times()).toEqual(await engineTimes(scene));
    expect(calls.inspectContainer).toBe(2);
  });

  test('of a thousand containers are asked for by four inspections at once, and delay no list', async () => {
    const scene = await createScene(1000);
    const { engine } = scene.startProcess().outside;
    let [running, most] = [0, 0];
    const inspectContainer: Engine['inspectContainer'] = async (id, signal) => {
      most = Math.max(most, (running += 1));
      await scene.clock.sleep(10);
      running -= 1;
      return engine.inspectContainer(id, signal);
    };
    const { calls, times } = await follow(scene, { inspectContainer });
    expect(times().filter((time) => time !== undefined).length).toBeLessThan(1000);
    await scene.clock.sleep(10_000);
    expect(times()).not.toContain(undefined);
    expect([calls.inspectContainer, most]).toEqual([1000, 4]);
  });

  test('are asked for again where an inspection fails, at most every ten seconds', async () => {
    const scene = await createScene(1);
    const inspectContainer: Engine['inspectContainer'] = () => Promise.reject(new Error('locked'));
    const { calls, times } = await follow(scene, { inspectContainer });
    for (let round = 0; round < 100; round += 1) {
      scene.sandbox.control.renameContainer(`app-${round}`, `app-${round + 1}`);
      await scene.clock.sleep(1000);
    }
    expect(times()).toEqual([undefined]);
    expect(calls.inspectContainer).toBeGreaterThan(5);
    expect(calls.inspectContainer).toBeLessThanOrEqual(11);
  });
});
