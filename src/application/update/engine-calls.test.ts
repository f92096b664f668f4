import { describe, expect, test } from 'vitest';
import { countCalls } from '../../../test/support/engine/counted-engine.ts';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { Engine } from '../../domain/outside/outside.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';

const everything = { trigger: 'command', images: [], containers: [] } as const;

/** Ten containers of ten images, and the calls of each piece of work. */
async function tenContainers() {
  const scene = createSandboxScene();
  let version = 0;
  const publish = (name: string) => scene.registry.store.publish(`${name}:1`, { version: String((version += 1)) });
  for (let number = 0; number < 10; number += 1) {
    const name = `app${number}`;
    publish(name);
    await scene.sandbox.engine.pullImage({ reference: `${name}:1` });
    scene.sandbox.control.runContainer(name, { Image: `${name}:1` });
  }
  const { engine, calls } = countCalls(scene.sandbox.engine);
  const { outside } = scene.startProcess();
  const inspected: string[] = [];
  const watched: Engine = {
    ...engine,
    inspectContainer: (id, signal) => {
      inspected.push(id);
      return engine.inspectContainer(id, signal);
    },
  };
  const application = createApplication({ ...outside, engine: watched }, defaultSettings);
  const counted = async (work: () => Promise<unknown>) => {
    for (const name of Object.keys(calls)) delete calls[name as keyof Engine];
    inspected.length = 0;
    await work();
    // The engine is asked for forbidden calls once in some seconds.
    const { forbiddenCalls: _, ...others } = calls;
    const total = Object.values(others).reduce((sum, count) => sum + count, 0);
    return { calls: { ...calls }, total, inspected: new Set(inspected) };
  };
  return { scene, application, publish, counted };
}

describe('engine calls of ten containers', () => {
  test('a check lists containers and images once, and inspects what an update would touch', async () => {
    const { application, publish, counted } = await tenContainers();
    const check = () => application.check({ images: [], containers: [] });
    expect((await counted(check)).calls).toEqual({ listContainers: 1, listImages: 1 });
    publish('app3');
    // The platform of the engine and of the image; the engine is asked for forbidden calls once in some seconds.
    const asked = { listContainers: 1, listImages: 1, info: 1, inspectImage: 1, forbiddenCalls: 1 };
    expect((await counted(check)).calls).toEqual({ ...asked, inspectContainer: 10 });
    // Each container is inspected once in its life, and then only the stale one.
    expect((await counted(check)).calls).toMatchObject({ listContainers: 1, listImages: 1, inspectContainer: 1 });
  });

  test('a run without anything stale lists containers and images once, and nothing else', async () => {
    const { application, counted } = await tenContainers();
    const { calls } = await counted(() => application.update(everything));
    expect(calls).toEqual({ listContainers: 1, listImages: 1 });
  });

  test('a plan inspects every container once in its life, and then only those that it touches', async () => {
    const { application, publish, counted } = await tenContainers();
    publish('app3');
    const plan = () => application.plan({ images: [], containers: [] });
    const asked = { listContainers: 1, listImages: 1, info: 1, inspectImage: 1 };
    expect((await counted(plan)).calls).toEqual({ ...asked, inspectContainer: 10 });
    // The image of the container is known by now.
    expect((await counted(plan)).calls).toEqual({ listContainers: 1, listImages: 1, inspectContainer: 1 });
  });

  test.each([
    ['a full run', { ...everything }],
    ['an update of one by name', { ...everything, containers: ['app3'], refuseUnmatched: true }],
  ])('%s with one stale takes one listing, and inspects only what it touches', async (_, request) => {
    const { application, publish, counted, scene } = await tenContainers();
    publish('app3');
    await application.update(everything);
    publish('app3');
    const old = await scene.sandbox.engine.inspectContainer('app3');
    const { calls, total, inspected } = await counted(() => application.update(request));
    const next = await scene.sandbox.engine.inspectContainer('app3');
    expect(next?.id).not.toBe(old?.id);
    // By id, by the ids of the old and the new container, and by their name; no call concerns the other nine.
    expect([...inspected].filter((id) => ![old?.id, next?.id, 'app3'].includes(id))).toEqual([]);
    expect(calls).toMatchObject({ listImages: 1, events: 1 });
    // One list is the run's, one inspection the plan's, three are the health window's; the others are the
    // transaction's.
    expect(calls.listContainers).toBeLessThanOrEqual(2);
    expect(calls.inspectContainer).toBeLessThanOrEqual(9);
    expect(calls.info).toBe(1);
    expect(total).toBeLessThanOrEqual(29);
  });

  test('a pull before the turn of its container costs no call', async () => {
    const { application, publish, counted } = await tenContainers();
    const callsOf = async (...names: readonly string[]) => {
      names.forEach(publish);
      return (await counted(() => application.update(everything))).calls;
    };
    await callsOf('app3', 'app4', 'app5');
    const [one, two] = [await callsOf('app3'), await callsOf('app4', 'app5')];
    for (const call of ['pullImage', 'inspectImage', 'createContainer'] as const)
      expect([call, two[call]]).toEqual([call, (one[call] ?? 0) * 2]);
    expect(two.info).toBe(one.info);
  });

  test('an update of one from the start of a process lists twice: for the repair, and for the run', async () => {
    const { application, publish, counted } = await tenContainers();
    publish('app3');
    const { calls, total } = await counted(async () => {
      await application.recover();
      await application.update({ ...everything, containers: ['app3'], refuseUnmatched: true });
    });
    expect(calls.listImages).toBe(2);
    expect(calls.listContainers).toBe(3);
    // Nine more than in a service that has the list of containers.
    expect(calls.inspectContainer).toBeLessThanOrEqual(18);
    expect(total).toBeLessThanOrEqual(41);
  });
});
