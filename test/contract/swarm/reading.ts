import { describe, expect, test } from 'vitest';
import { read, running, until, type GetSwarm } from './fixture.ts';

export function swarmReadingRows(get: GetSwarm): void {
  describe('reading a swarm', () => {
    test('state() says that it is a manager, of which swarm', async () => {
      expect(await get().swarm.state()).toMatchObject({ kind: 'manager', clusterId: expect.stringMatching(/.+/) });
    });

    test('services() shows a replicated service, and how many of its tasks run', async () => {
      const { create, image, swarm } = get();
      const id = await create('web', image('v1'), {
        labels: { own: 'a' },
        container: { Labels: { inner: 'b' }, StopGracePeriod: 2e9 },
        update: { Order: 'start-first', FailureAction: 'continue', Delay: 3e9 },
      });
      await until(get(), id, ({ tasks }) => running(tasks).length === 2);
      const [service, ...others] = await swarm.services();
      expect(others).toEqual([]);
      expect(service).toMatchObject({
        id,
        name: 'web',
        image: image('v1'),
        mode: 'replicated',
        replicas: 2,
        count: { running: 2, wanted: 2 },
        labels: { own: 'a' },
        containerLabels: { inner: 'b' },
        hasHostPorts: false,
        constraints: [],
        order: 'start-first',
        failureAction: 'continue',
        monitorMs: 1000,
        pauseMs: 5000,
      });
      expect(service?.update).toBeUndefined();
      expect(service?.previous).toBeUndefined();
      expect(service?.platforms).toBeUndefined();
    });

    test('services() shows a global service with a host port, where it may run, and on what', async () => {
      const { create, image, swarm } = get();
      const Placement = { Constraints: ['node.role==worker'], Platforms: [{ Architecture: 'amd64', OS: 'linux' }] };
      const id = await create('glob', image('v1'), { global: true, hostPort: 18_085, task: { Placement } });
      await until(get(), id, ({ tasks }) => running(tasks).length === 2);
      const [service] = await swarm.services();
      expect(service).toMatchObject({
        mode: 'global',
        hasHostPorts: true,
        constraints: ['node.role==worker'],
        platforms: [{ os: 'linux', architecture: 'amd64', variant: '' }],
      });
      expect(service?.replicas).toBeUndefined();
    });

    test('service() is by the whole id: neither a name nor the beginning of an id finds it', async () => {
      const { create, image, swarm } = get();
      const id = await create('web', image('v1'), { replicas: 0 });
      expect(await swarm.service(id)).toMatchObject({ id, replicas: 0, count: undefined });
      for (const other of ['nothing', 'we', id.slice(0, 10)]) expect(await swarm.service(other)).toBeUndefined();
    });

    test('tasks() shows those of the services that were asked about, each in its slot on a node', async () => {
      const { create, image, swarm } = get();
      const id = await create('web', image('v1'));
      await create('other', image('v1'), { replicas: 1 });
      await until(get(), id, ({ tasks }) => running(tasks).length === 2);
      const tasks = await swarm.tasks([id]);
      expect(new Set(tasks.map(({ slot }) => slot))).toEqual(new Set([1, 2]));
      const nodes = new Set((await swarm.nodes()).map((node) => node.id));
      for (const task of tasks) {
        expect(task).toMatchObject({ serviceId: id, image: image('v1'), error: '' });
        expect(nodes).toContain(task.nodeId);
      }
      expect(await swarm.tasks([])).toEqual([]);
    });

    test('tasks() shows the task of a global service without a slot', async () => {
      const { create, image } = get();
      const id = await create('glob', image('v1'), { global: true });
      const { tasks } = await until(get(), id, (seen) => running(seen.tasks).length === 3);
      expect(tasks.map(({ slot }) => slot)).toEqual([undefined, undefined, undefined]);
    });

    test('nodes() shows three that are ready, and one that is down once it is gone', async () => {
      const { swarm, loseNode, clock } = get();
      const nodes = await swarm.nodes();
      expect(new Set(nodes.map(({ hostname, state, role }) => `${hostname} ${state} ${role}`))).toEqual(
        new Set(['n1 ready manager', 'n2 ready worker', 'n3 ready worker']),
      );
      for (const node of nodes) expect(node).toMatchObject({ availability: 'active', platform: { os: 'linux' } });
      await loseNode(3);
      const deadlineMs = clock.monotonicMs() + 60_000;
      const isDown = async () =>
        (await swarm.nodes()).some(({ hostname, state }) => hostname === 'n3' && state === 'down');
      while (!(await isDown())) {
        expect(clock.monotonicMs()).toBeLessThan(deadlineMs);
        await clock.sleep(100);
      }
    });

    test('tasks of no registry’s image are rejected, and say so', async () => {
      const { create, missing } = get();
      const id = await create('web', missing, { replicas: 1 });
      const { tasks } = await until(get(), id, (seen) => seen.tasks.some(({ state }) => state === 'rejected'));
      expect(tasks.find(({ state }) => state === 'rejected')?.error).toContain('No such image');
      expect((await read(get(), id)).update).toBeUndefined();
    });
  });
}
