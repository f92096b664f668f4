import { describe, expect, test } from 'vitest';
import { changeTo, hasEnded, read, running, until, type GetSwarm } from './fixture.ts';

export function swarmChangingRows(get: GetSwarm): void {
  describe('changing a service', () => {
    test('change() replaces the image and adds labels; what was before it is the previous one', async () => {
      const { create, image, swarm } = get();
      const id = await create('web', image('v1'), { replicas: 0, labels: { own: 'a' } });
      await settled(get, id);
      const service = await read(get(), id);
      expect(await swarm.change(service, { image: image('v2'), labels: { note: 'é "n"' } })).toEqual({ kind: 'done' });
      expect(await read(get(), id)).toMatchObject({
        image: image('v2'),
        labels: { own: 'a', note: 'é "n"' },
        previous: { image: image('v1'), labels: { own: 'a' } },
        replicas: 0,
      });
    });

    test('change() replaces the platforms only where it is told to', async () => {
      const { create, image, swarm } = get();
      const amd64 = { os: 'linux', architecture: 'amd64', variant: '' };
      const Placement = {
        Platforms: [
          { Architecture: 'amd64', OS: 'linux' },
          { Architecture: 'arm64', OS: 'linux' },
        ],
      };
      const id = await create('web', image('v1'), { replicas: 0, task: { Placement } });
      await settled(get, id);
      await changeTo(get(), id, image('v2'));
      expect((await read(get(), id)).platforms).toHaveLength(2);
      const service = await read(get(), id);
      await swarm.change(service, { image: image('v1'), labels: {}, platforms: [amd64] });
      expect((await read(get(), id)).platforms).toEqual([amd64]);
    });

    test('change() and goBack() are a conflict, and nothing happens, once someone else has changed it', async () => {
      const { create, image, swarm, label } = get();
      const id = await create('web', image('v1'), { replicas: 0 });
      await changeTo(get(), id, image('v2'));
      const service = await read(get(), id);
      await label(id, 'theirs', 'yes');
      expect(await swarm.change(service, { image: image('crash'), labels: {} })).toEqual({ kind: 'conflict' });
      expect(await swarm.rollBack(service)).toEqual({ kind: 'conflict' });
      expect(await read(get(), id)).toMatchObject({ image: image('v2'), labels: { theirs: 'yes' } });
    });

    test('goBack() makes the previous spec the spec, and again the other way round', async () => {
      const { create, image, swarm } = get();
      const id = await create('web', image('v1'), { replicas: 1 });
      await until(get(), id, ({ tasks }) => running(tasks).length === 1);
      await changeTo(get(), id, image('v2'));
      await until(get(), id, (seen) => hasEnded(seen) && running(seen.tasks, image('v2')).length === 1);
      expect(await swarm.rollBack(await read(get(), id))).toEqual({ kind: 'done' });
      const { service } = await until(get(), id, ({ service: { update } }) => update?.state === 'rollback_completed');
      expect(service).toMatchObject({ image: image('v1'), previous: { image: image('v2') } });
      await until(get(), id, ({ tasks }) => running(tasks, image('v1')).length === 1);
    });

    test('goBack() is refused for a service that never was updated', async () => {
      const { create, image, swarm } = get();
      const id = await create('web', image('v1'), { replicas: 0 });
      await settled(get, id);
      expect(await swarm.rollBack(await read(get(), id))).toMatchObject({ kind: 'refused', status: 400 });
    });

    test('a service that is gone is refused', async () => {
      const { create, image, swarm } = get();
      const id = await create('web', image('v1'), { replicas: 0 });
      const service = { ...(await read(get(), id)), id: 'a'.repeat(25) };
      expect(await swarm.change(service, { image: image('v2'), labels: {} })).toMatchObject({
        kind: 'refused',
        status: 404,
      });
    });

    test('a failure is remembered until it is forgotten, with whatever its reason says', async () => {
      const { create, image, swarm } = get();
      const serviceId = await create('web', image('v1'), { replicas: 0 });
      const digest = `sha256:${'a'.repeat(64)}`;
      const failure = { serviceId, serviceName: 'web', digest, atMs: 1_767_225_600_000, reason: 'it "crashed": é' };
      expect(await swarm.failures()).toEqual([]);
      expect(await swarm.noteFailure(failure)).toEqual({ kind: 'done' });
      const [noted, ...others] = await swarm.failures();
      expect(others).toEqual([]);
      expect(noted).toMatchObject(failure);
      if (noted === undefined) return;
      expect(await swarm.forgetFailure(noted)).toEqual({ kind: 'done' });
      expect(await swarm.forgetFailure(noted)).toEqual({ kind: 'noop' });
      expect(await swarm.failures()).toEqual([]);
    });

    test('a failure that is remembered already stays one', async () => {
      const { create, image, swarm } = get();
      const serviceId = await create('web', image('v1'), { replicas: 0 });
      const digest = `sha256:${'a'.repeat(64)}`;
      const failure = { serviceId, serviceName: 'web', digest, atMs: 1_767_225_600_000, reason: 'it crashed' };
      await swarm.noteFailure(failure);
      expect(['done', 'noop']).toContain((await swarm.noteFailure(failure)).kind);
      expect(await swarm.failures()).toHaveLength(1);
    });

    test('the first record of a version stays, and another version of the service has its own', async () => {
      const { create, image, swarm } = get();
      const serviceId = await create('web', image('v1'), { replicas: 0 });
      const [one, two] = ['a', 'b'].map((digit) => `sha256:${digit.repeat(64)}`);
      const failure = { serviceId, serviceName: 'web', atMs: 1_767_225_600_000, reason: 'it crashed' };
      await swarm.noteFailure({ ...failure, digest: one ?? '' });
      expect(await swarm.noteFailure({ ...failure, digest: two ?? '' })).toEqual({ kind: 'done' });
      const later = { ...failure, digest: one ?? '', atMs: 1_767_225_660_000, reason: 'it was sick' };
      expect(await swarm.noteFailure(later)).toEqual({ kind: 'noop' });
      const noted = (await swarm.failures()).toSorted((a, b) => (a.digest < b.digest ? -1 : 1));
      expect(noted).toMatchObject([
        { ...failure, digest: one },
        { ...failure, digest: two },
      ]);
    });
  });
}

/** The swarm changes the version of a new service while it creates the tasks and ports. */
async function settled(get: GetSwarm, id: string): Promise<void> {
  const { clock } = get();
  let last = '';
  for (;;) {
    const { version } = await read(get(), id);
    if (version === last) return;
    last = version;
    await clock.sleep(300);
  }
}
