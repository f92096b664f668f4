import { describe, expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { Engine } from '../../domain/outside/outside.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import { createGraphReader } from '../check/make-plan.ts';

async function setScene() {
  const scene = createSandboxScene();
  scene.registry.store.publish('app:1', { version: '1' });
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  const run = (name: string, body: object = {}) =>
    scene.sandbox.control.runContainer(name, { Image: 'app:1', ...body });
  const { outside } = scene.startProcess();
  const names = async (id: string) => (await scene.sandbox.engine.inspectContainer(id))?.name ?? id;
  const inspected: string[] = [];
  const broken = new Set<string>();
  const engine: Engine = {
    ...outside.engine,
    inspectContainer: async (id, signal) => {
      inspected.push(await names(id));
      if (broken.has(id)) throw new ServiceError('engine-refused', 'Cannot inspect it');
      return outside.engine.inspectContainer(id, signal);
    },
  };
  const read = createGraphReader({ ...outside, engine }, { useComposeDependsOn: true });
  /** Reads the graph; returns the names of the inspected containers. */
  const graphOf = async (...stale: readonly string[]) => {
    inspected.length = 0;
    const result = await read(await engine.listContainers(), new Set(stale));
    return { ...result, inspected: inspected.toSorted() };
  };
  return { scene, run, graphOf, broken };
}

describe('createGraphReader()', () => {
  test('inspects a container once, and again when an update touches it', async () => {
    const { run, graphOf } = await setScene();
    const vpn = run('vpn');
    run('torrent', { HostConfig: { NetworkMode: `container:${vpn}` } });
    const web = run('web');
    expect((await graphOf(web)).inspected).toEqual(['torrent', 'vpn', 'web']);
    expect((await graphOf(web)).inspected).toEqual(['web']);
    expect((await graphOf(vpn)).inspected).toEqual(['torrent', 'vpn']);
  });

  test('knows containers that come, go and change their names', async () => {
    const { scene, run, graphOf } = await setScene();
    const [web, db, old] = [run('web'), run('db'), run('old')];
    await graphOf(web);
    await scene.sandbox.engine.renameContainer(db, 'database');
    await scene.sandbox.engine.removeContainer(old);
    const job = run('job', { HostConfig: { VolumesFrom: ['database'] } });
    const { graph, inspected } = await graphOf(web);
    expect(inspected).toEqual(['job', 'web']);
    expect([...graph.containers.values()].map(({ name }) => name).toSorted()).toEqual(['database', 'job', 'web']);
    expect(graph.hard.get(job)).toEqual([{ kind: 'volumes', names: 'database', targetId: db }]);
    expect((await graphOf(db)).inspected).toEqual(['database', 'job']);
  });

  test('inspects a container with links each time, because the engine tells them by names', async () => {
    const { run, graphOf } = await setScene();
    const web = run('web');
    run('db');
    run('api', { HostConfig: { Links: ['/db:/api/db'] } });
    await graphOf(web);
    expect((await graphOf(web)).inspected).toEqual(['api', 'web']);
  });

  test('tells what cannot be inspected, and asks again the next time', async () => {
    const { run, graphOf, broken } = await setScene();
    const [web, sick] = [run('web'), run('sick')];
    broken.add(sick);
    expect((await graphOf(web)).unreadable.map(({ name }) => name)).toEqual(['sick']);
    broken.delete(sick);
    const { unreadable, inspected } = await graphOf(web);
    expect(unreadable).toEqual([]);
    expect(inspected).toEqual(['sick', 'web']);
  });
});
