import { expect, test } from 'vitest';
import { describeInSwarm } from '../lab/swarm/describe-in-swarm.ts';
import { digestIn, pinnedImage } from '../lab/swarm/pinned-image.ts';
import { hasEnded, runningTasks, serviceSpec } from '../lab/swarm/service-spec.ts';
import type { ServiceWish } from '../lab/swarm/service-spec.ts';

/** Behaviour of Swarm on which `src/` depends. A new engine that behaves differently fails here first. */
describeInSwarm('a swarm', {}, (swarm) => {
  const image = (tag: string) => pinnedImage(swarm().registry, tag);
  const runs = async (name: string, wish: ServiceWish = {}, tag = 'v1') => {
    const id = await swarm().create(serviceSpec(name, await image(tag), wish));
    await swarm().until(id, (_, tasks) => runningTasks(tasks).length >= (wish.global ? 3 : (wish.replicas ?? 2)));
    return id;
  };
  const updateTo = async (id: string, tag: string) => {
    const next = await image(tag);
    const reply = await swarm().change(id, (spec) => (spec.TaskTemplate.ContainerSpec.Image = next));
    expect(reply.status, reply.text).toBe(200);
    return next;
  };

  test('says "completed" of a service that crashes at once, where a failure is not to stop the update', async () => {
    const id = await runs('crashes', { update: { FailureAction: 'continue' } });
    const bad = await updateTo(id, 'crash');
    const { service, tasks } = await swarm().until(id, hasEnded);
    expect(service.UpdateStatus?.State).toBe('completed');
    expect(tasks.some(({ Spec, Status }) => Spec.ContainerSpec.Image === bad && Status.State === 'failed')).toBe(true);
  });

  test('says "completed" of a service that crashes after the monitor period', async () => {
    // It has run for two seconds when it crashes; on a busy machine the swarm notices both later.
    const id = await runs('late', { replicas: 1, update: { Monitor: 100_000_000 } });
    const bad = await updateTo(id, 'crash-later');
    expect((await swarm().until(id, hasEnded)).service.UpdateStatus?.State).toBe('completed');
    await swarm().until(id, (_, tasks) =>
      tasks.some(({ Spec, Status }) => Spec.ContainerSpec.Image === bad && Status.State === 'failed'),
    );
  });

  test('says nothing at all of an update of no replicas', async () => {
    const id = await swarm().create(serviceSpec('none', await image('v1'), { replicas: 0 }));
    await updateTo(id, 'v2');
    const { UpdateStatus, PreviousSpec } = await swarm().service(id);
    expect(UpdateStatus).toBeUndefined();
    expect(PreviousSpec).toBeDefined();
  });

  test('forgets its update and the way back with a change of a label', async () => {
    const id = await runs('labelled', { replicas: 1 });
    const next = await updateTo(id, 'v2');
    await swarm().until(id, hasEnded);
    await swarm().change(id, (spec) => (spec.Labels = { note: 'x' }));
    const { UpdateStatus, PreviousSpec } = await swarm().service(id);
    expect(UpdateStatus).toBeUndefined();
    expect(PreviousSpec?.TaskTemplate.ContainerSpec.Image).toBe(next);
  });

  test('refuses an update of another version than the one that it has with a 500', async () => {
    const id = await swarm().create(serviceSpec('versions', await image('v1'), { replicas: 0 }));
    const { Spec, Version } = await swarm().service(id);
    await swarm().change(id, (spec) => (spec.Labels = { note: 'x' }));
    const path = `/services/${id}/update?version=${Version.Index}`;
    const reply = await swarm().send({ method: 'POST', path, body: Spec });
    expect(reply.status).toBe(500);
    expect(reply.text).toContain('update out of sequence');
  });

  test('has no way back for a service that never was updated', async () => {
    const id = await swarm().create(serviceSpec('first', await image('v1'), { replicas: 0 }));
    const reply = await swarm().change(id, () => {}, '&rollback=previous');
    expect(reply.status).toBe(400);
    expect(reply.text).toContain('does not have a previous spec');
  });

  test('waits for ever where the new task needs the port of the old one, which is to stop after it', async () => {
    const id = await runs('port', { global: true, hostPort: 18_081, update: { Order: 'start-first' } });
    await updateTo(id, 'v2');
    const { service } = await swarm().until(id, (_, tasks) =>
      tasks.some(({ Status }) => Status.Err?.includes('host-mode port already in use')),
    );
    expect(service.UpdateStatus?.State).toBe('updating');
  });

  test('takes the beginning of a name for the name', async () => {
    for (const name of ['web', 'web-2']) await swarm().create(serviceSpec(name, await image('v1'), { replicas: 0 }));
    const filters = encodeURIComponent(JSON.stringify({ name: ['web'] }));
    expect(await swarm().must<unknown[]>('GET', `/services?filters=${filters}`)).toHaveLength(2);
  });

  test('keeps a config under a name that nobody else can take, if there is something in it', async () => {
    const create = (body: object) => swarm().send({ method: 'POST', path: '/configs/create', body });
    expect((await create({ Name: 'note', Data: '' })).status).toBe(400);
    expect((await create({ Name: 'note', Data: 'eA==' })).status).toBe(201);
    expect((await create({ Name: 'note', Data: 'eA==' })).status).toBe(409);
  });

  test('keeps no failed task of a version where it keeps no history', async () => {
    const { Spec, Version } = await swarm().must<{ Spec: { Orchestration: object }; Version: { Index: number } }>(
      'GET',
      '/swarm',
    );
    const keep = (history: number, version: number) =>
      swarm().must('POST', `/swarm/update?version=${version}`, {
        ...Spec,
        Orchestration: { TaskHistoryRetentionLimit: history },
      });
    await keep(0, Version.Index);
    try {
      const id = await runs('forgets', { replicas: 1 });
      const bad = await updateTo(id, 'crash');
      const { service } = await swarm().until(
        id,
        (now, tasks) => hasEnded(now) && tasks.every(({ Spec: { ContainerSpec } }) => ContainerSpec.Image !== bad),
        // A task waits a minute for the end of its predecessor, if that is removed first:
        // https://github.com/moby/swarmkit/blob/master/manager/orchestrator/restart/restart.go
        150_000,
      );
      expect(service.UpdateStatus?.State).toBe('rollback_completed');
    } finally {
      await keep(5, (await swarm().must<{ Version: { Index: number } }>('GET', '/swarm')).Version.Index);
    }
  });

  test('is not managed from a worker', async () => {
    const reply = await swarm().send({ path: '/services', socket: swarm().node(2).engine.socket });
    expect(reply.status).toBe(503);
  });

  test('runs a job again that is updated', async () => {
    const spec = serviceSpec('job', await image('v1'));
    const job = { ...spec, Mode: { ReplicatedJob: { MaxConcurrent: 1, TotalCompletions: 1 } } };
    delete job.UpdateConfig;
    delete job.RollbackConfig;
    job.TaskTemplate['RestartPolicy'] = { Condition: 'none' };
    const id = await swarm().create(job);
    await updateTo(id, 'v2');
    const { JobStatus } = await swarm().must<{ JobStatus: { JobIteration: { Index?: number } } }>(
      'GET',
      `/services/${id}`,
    );
    expect(JobStatus.JobIteration.Index).toBe(1);
  });

  test('waits for ever for a task on a node that is gone, unless it is told to go back', async () => {
    const away = { Placement: { Constraints: ['node.hostname!=n1'] } };
    const id = await runs('gone', { replicas: 4, task: away, update: { Order: 'start-first' } });
    const third = (await swarm().nodeViews()).find(({ Description }) => Description.Hostname === 'n3')?.ID;
    const next = await updateTo(id, 'slow');
    await swarm().until(id, (_, tasks) =>
      tasks.some(({ NodeID, Spec }) => NodeID === third && Spec.ContainerSpec.Image === next),
    );
    await swarm().node(3).lose();
    await swarm().until(id, (_, tasks) => runningTasks(tasks, digestIn(next)).length >= 1);
    expect((await swarm().service(id)).UpdateStatus?.State).toBe('updating');
    // A rollback that places a task on the lost node before the managers notice the loss waits forever, too.
    await swarm().allReady(2);
    expect((await swarm().change(id, () => {}, '&rollback=previous')).status).toBe(200);
    // If it waits for a task that never ran, it waits for a minute.
    const { service: after } = await swarm().until(id, hasEnded, 120_000);
    expect(after.UpdateStatus?.State).toBe('rollback_completed');
  });
});
