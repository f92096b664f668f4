import { describe, expect, test } from 'vitest';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { Behaviour } from '../../../sandbox/base/behaviour.ts';
import type { UpdateRequest, Session } from '../../domain/run/session.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import { defaultSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';

/** Runs of many containers, in the sandbox engine. */

const crash: Behaviour = { exitsAfterMs: 50, exitCode: 3 };

/** `later` makes an update wait. */
const first = { version: '1', behaviour: { commands: { later: { exitCode: 75 } } } };

async function run(scene: SandboxScene, name: string, image: string, labels: Readonly<Record<string, string>> = {}) {
  if ((await scene.sandbox.engine.inspectImage(image)) === undefined) {
    scene.registry.store.publish(image, first);
    await scene.sandbox.engine.pullImage({ reference: image });
  }
  return scene.sandbox.control.runContainer(name, { Image: image, Labels: labels });
}

async function update(scene: SandboxScene, settings: Partial<ServiceSettings> = {}, wish: Partial<UpdateRequest> = {}) {
  const application = createApplication(scene.startProcess().outside, {
    ...defaultSettings,
    healthWindowMs: 60_000,
    ...settings,
  });
  const events: ServiceEvent[] = [];
  application.subscribe((event) => events.push(event));
  const session = await application.update({ trigger: 'command', images: [], containers: [], ...wish });
  return { session, events };
}

const outcomes = ({ containers }: Session) =>
  Object.fromEntries(containers.map(({ name, outcome }) => [name, outcome]));
const reasons = ({ containers }: Session) => Object.fromEntries(containers.map(({ name, reason }) => [name, reason]));
const begun = (events: readonly ServiceEvent[]) =>
  events.flatMap((event) => (event.kind === 'update_started' ? [event.container] : []));

const six = ['aa', 'bb', 'cc', 'dd', 'ee', 'ff'];

describe('the wait for health', () => {
  async function unproven(settings: Partial<ServiceSettings>): Promise<readonly number[]> {
    const scene = createSandboxScene();
    for (const name of six) await run(scene, name, `${name}:1`);
    for (const name of six) scene.registry.store.publish(`${name}:1`, { version: '2' });
    const { session, events } = await update(scene, { canary: false, ...settings });
    expect(Object.values(outcomes(session))).toEqual(six.map(() => 'updated'));
    let [under, most, working, maxWorking] = [0, 0, 0, 0];
    for (const event of events) {
      if (event.kind === 'update_started') {
        most = Math.max(most, (under += 1));
        maxWorking = Math.max(maxWorking, (working += 1));
      }
      if (event.kind === 'phase_entered' && event.phase === 'checking health') working -= 1;
      if (event.kind === 'update_completed') under -= 1;
    }
    return [most, maxWorking];
  }

  test('holds no place: others begin meanwhile, never more at once than there are places', async () => {
    const [most, maxWorking] = await unproven({ updateConcurrency: 2 });
    expect(maxWorking).toBe(2);
    expect(most).toBeGreaterThan(4);
  });

  test('holds its place where as many wait as may', async () => {
    expect(await unproven({ updateConcurrency: 2, unproven: 1 })).toEqual([3, 2]);
    expect(await unproven({ updateConcurrency: 2, unproven: 0 })).toEqual([2, 2]);
  });

  test('holds its place one by one', async () => {
    expect(await unproven({ updateConcurrency: 1 })).toEqual([1, 1]);
    expect(await unproven({ rollingRestart: true })).toEqual([1, 1]);
  });
});

describe('a canary', () => {
  async function fleet(next: Behaviour, labelled?: string): Promise<SandboxScene> {
    const scene = createSandboxScene();
    for (const name of six)
      await run(scene, name, 'web:1', name === labelled ? { 'upkeep.canary': 'true' } : undefined);
    scene.registry.store.publish('web:1', { version: '2', behaviour: next });
    return scene;
  }

  test('that passes is followed by all others', async () => {
    const { session, events } = await update(await fleet({}));
    expect(Object.values(outcomes(session))).toEqual(six.map(() => 'updated'));
    const firstEnd = events.findIndex(({ kind }) => kind === 'update_completed');
    expect(begun(events.slice(0, firstEnd))).toHaveLength(1);
    expect(begun(events)).toHaveLength(6);
  });

  test('that is rolled back leaves all others untouched, and they say why', async () => {
    const scene = await fleet(crash, 'dd');
    const ids = (await scene.sandbox.engine.listContainers()).map(({ id }) => id).toSorted();
    const { session, events } = await update(scene);
    expect(outcomes(session)).toEqual({
      ...Object.fromEntries(six.map((name) => [name, 'deferred'])),
      dd: 'rolled_back',
    });
    expect(reasons(session)['aa']).toBe('The new version failed in "dd"');
    expect(begun(events)).toEqual(['dd']);
    expect((await scene.sandbox.engine.listContainers()).map(({ id }) => id).toSorted()).toEqual(ids);
  });

  test('that was rolled back in an earlier run stays the last that was touched, until someone asks to try again', async () => {
    const scene = await fleet(crash, 'dd');
    await update(scene);
    const { session, events } = await update(scene);
    expect(begun(events)).toEqual([]);
    expect(outcomes(session)).toMatchObject({ aa: 'deferred', ff: 'deferred', dd: 'skipped' });
    expect(reasons(session)['ff']).toBe('The new version failed in "dd"');
    const retried = await update(scene, {}, { retryFailed: true });
    expect(begun(retried.events)).toEqual(['dd']);
  });

  test('of two that was rolled back in an earlier run stays the only one that was touched', async () => {
    const scene = createSandboxScene();
    for (const name of ['aa', 'bb'])
      await run(scene, name, 'web:1', name === 'bb' ? { 'upkeep.canary': 'true' } : undefined);
    scene.registry.store.publish('web:1', { version: '2', behaviour: crash });
    expect(outcomes((await update(scene)).session)).toEqual({ aa: 'deferred', bb: 'rolled_back' });
    const { session, events } = await update(scene);
    expect(begun(events)).toEqual([]);
    expect(reasons(session)['aa']).toBe('The new version failed in "bb"');
  });

  test('with --canary false nobody waits for it', async () => {
    const { session } = await update(await fleet(crash, 'dd'), { canary: false });
    expect(Object.values(outcomes(session))).toEqual(six.map(() => 'rolled_back'));
  });

  test('that cannot be begun leaves its turn to the next', async () => {
    const scene = createSandboxScene();
    const bad = { 'upkeep.canary': 'true', 'upkeep.lifecycle.pre-update': 'later' };
    for (const name of six) await run(scene, name, 'web:1', name === 'cc' ? bad : undefined);
    scene.registry.store.publish('web:1', { version: '2', behaviour: crash });
    const { session, events } = await update(scene, { lifecycleHooks: true });
    const kinds = outcomes(session);
    expect(kinds['cc']).toBe('deferred');
    expect(Object.values(kinds).filter((kind) => kind === 'rolled_back')).toHaveLength(1);
    expect(begun(events)).toHaveLength(2);
  });
});
