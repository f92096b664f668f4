import { describe, expect, test } from 'vitest';
import { everything, setStage } from '../../../test/failures/rig/stage.ts';
import { behaviours } from '../../../sandbox/base/behaviour.ts';
import type { CallKind, SandboxCall } from '../../../sandbox/engine/calls.ts';

/** A proxy that forbids these calls. */
const forbids = (...kinds: readonly CallKind[]) =>
  kinds.map((at) => ({ at, fault: { kind: 'forbid' }, every: true }) as const);

describe.each(['good', 'crashesAtStart'] as const)('a new version that is %s', (behaviour) => {
  const stageOf = () => setStage({ web: { next: { behaviour: behaviours[behaviour] } }, other: {} });

  test.each([
    [['startContainer'], 'POST /containers/{id}/start', 'ALLOW_START=1'],
    [['stopContainer'], 'POST /containers/{id}/stop', 'ALLOW_STOP=1'],
    [['renameContainer'], 'POST /containers/{id}/rename', 'CONTAINERS=1 POST=1'],
    [['updateRestartPolicy'], 'POST /containers/{id}/update', 'CONTAINERS=1 POST=1'],
    [['createContainer'], 'POST /containers/create', '-allowPOST='],
    [['tagImage'], 'POST /images/{name}/tag', 'IMAGES=1'],
    [['pullImage'], 'POST /images/create', 'IMAGES=1'],
    [
      ['startContainer', 'renameContainer', 'removeContainer'],
      'POST /containers/{id}/rename and POST /containers/{id}/start',
      '-allowDELETE=',
    ],
  ] as const)('without %s nothing is changed, and all that is missing is told', async (kinds, calls, settings) => {
    const stage = await stageOf();
    const { outcomes, of, connection, complaints } = await stage.update({ faults: forbids(...kinds) });
    expect(outcomes).toEqual({ web: 'failed', other: 'failed' });
    expect(of('web').reason).toContain(`a proxy in front of the engine forbids ${calls}`);
    expect(of('web').reason).toContain(settings);
    expect(connection.calls).toEqual([]);
    expect(stage.harm()).toEqual([]);
    expect(complaints.filter((line) => line.includes('Updates are not possible'))).toHaveLength(1);
  });
});

const probed = { Healthcheck: { Test: ['CMD', 'probe'] } };

test('a grant is noticed by the next run', async () => {
  const stage = await setStage({ web: {} });
  expect((await stage.update({ faults: forbids('startContainer') })).outcomes).toEqual({ web: 'failed' });
  expect((await stage.update()).outcomes).toEqual({ web: 'updated' });
});

test('an interrupted update is not undone without the right to start: its new version runs on', async () => {
  const stage = await setStage({ web: { next: { behaviour: behaviours['neverHealthy'], config: probed } } });
  const crash = { kind: 'crash', when: 'after' } as const;
  await stage.updateKilled({ faults: [{ at: 'startContainer', fault: crash }], request: everything });
  expect(stage.now('web').running).toBe(true);
  const { application } = stage.live({ faults: forbids('startContainer') });
  const { transactions } = await stage.scene.clock.run(() => application.recover());
  expect(transactions).toMatchObject([{ containers: ['web'], result: 'failed' }]);
  expect(transactions[0]?.reason).toContain('forbids POST /containers/{id}/start');
  expect(stage.now('web').running).toBe(true);
  expect((await stage.startAgain()).transactions).toMatchObject([{ result: 'undone' }]);
  expect(stage.harm()).toEqual([]);
});

test.each(['good', 'crashesAtStart'] as const)(
  'without renames from the swap on, a container that keeps another name is told (%s)',
  async (behaviour) => {
    const stage = await setStage({ web: { next: { behaviour: behaviours[behaviour] } }, other: {} });
    let isForbidden = true;
    const isLate = (call: SandboxCall) =>
      call.kind === 'renameContainer' &&
      isForbidden &&
      (/-(?:drop|bad)/.test(call.detail) || call.target.includes('.upkeep-old-'));
    const faults = [{ at: isLate, fault: { kind: 'forbid' }, every: true }] as const;
    const { application } = stage.live({ faults });
    const session = await stage.scene.clock.run(() => application.update({ ...everything, containers: ['web'] }));
    expect(session.containers).toMatchObject([{ name: 'web', outcome: 'failed', isUnfinished: true }]);
    const { unfinished, unmatched } = await application.check({ ...everything, containers: ['web'] });
    expect(unmatched).toEqual([]);
    expect(unfinished).toMatchObject([{ name: 'web', state: 'repair pending' }]);
    expect(unfinished[0]?.reason).toMatch(
      /^repair pending: .*"web".* runs as "web\.upkeep-old-\w+"\. .*upkeep recover/,
    );
    await application.follow(new AbortController().signal);
    expect(application.inventory().unfinished).toMatchObject([{ name: 'web', state: 'repair pending' }]);
    isForbidden = false;
    await stage.scene.clock.run(() => application.recover());
    expect((await application.check(everything)).unfinished).toEqual([]);
    await application.close();
    expect(stage.harm()).toEqual([]);
  },
);

const marksOf = (stage: Awaited<ReturnType<typeof setStage>>) =>
  Object.keys(stage.scene.sandbox.control.snapshot().tags).filter((tag) => tag.includes('upkeep-open:'));

describe.each([
  ['removal of containers', ['removeContainer']],
  ['removal of containers and images', ['removeContainer', 'removeImage']],
  ['removal of images', ['removeImage']],
] as const)('without the %s', (_what, kinds) => {
  const isLeft = kinds.some((kind) => kind === 'removeContainer');

  test('set-up forbidden removals: updates go on, and say what stays', async () => {
    const stage = await setStage({ web: {} });
    for (const version of ['2', '3', '4']) {
      const { outcomes, of, complaints } = await stage.update({ faults: forbids(...kinds) });
      expect(outcomes, complaints.join()).toEqual({ web: 'updated' });
      if (isLeft) expect(of('web').reason).toMatch(/^the old container stays, stopped.*forbids.*DELETE=1/);
      else expect(of('web').reason).toBe('');
      expect(stage.now('web').running).toBe(true);
      expect(stage.harm().filter((line) => !line.includes('.upkeep-kept-'))).toEqual([]);
      expect(marksOf(stage)).toEqual([]);
      stage.scene.registry.store.publish('web:1', { version });
    }
    expect(stage.harm()).toHaveLength(isLeft ? 3 : 0);
    const { outcomes } = await stage.update();
    expect(outcomes).toEqual({ web: 'updated' });
    expect(stage.harm()).toEqual([]);
  });

  test('with a clean-up, an outcome says that the old image stays', async () => {
    const stage = await setStage({ web: {} });
    const oldImageId = stage.now('web').imageId;
    const { of } = await stage.update({ faults: forbids(...kinds), settings: { cleanup: true } });
    const says = /the old image stays: a proxy in front of the engine forbids DELETE \/images\/\{name\}\. .*DELETE=1/;
    if (kinds.some((kind) => kind === 'removeImage')) expect(of('web').reason).toMatch(says);
    else expect(of('web').reason).not.toContain('image stays');
    await stage.update({ settings: { cleanup: true } });
    expect(await stage.scene.sandbox.engine.inspectImage(oldImageId)).toBeUndefined();
  });

  test('a version that fails is rolled back, and is not in the way of the next', async () => {
    const stage = await setStage({ web: { next: { behaviour: behaviours['crashesAtStart'] } } });
    const failed = await stage.update({ faults: forbids(...kinds) });
    expect(failed.outcomes).toEqual({ web: 'rolled_back' });
    if (isLeft) expect(failed.of('web').reason).toMatch(/the failed one stays, stopped.*forbids.*DELETE=1/);
    expect(stage.now('web').running).toBe(true);
    expect(marksOf(stage)).toEqual([]);
    expect((await stage.update({ faults: forbids(...kinds) })).outcomes).toEqual({ web: 'skipped' });
    stage.scene.registry.store.publish('web:1', { version: 'mended' });
    expect((await stage.update({ faults: forbids(...kinds) })).outcomes).toEqual({ web: 'updated' });
    await stage.update();
    expect(stage.harm()).toEqual([]);
  });
});

test.each([
  ['from the start on', 0],
  ['from the stop on', 1],
])('a service removes what stayed, soon after removals are permitted (forbidden %s)', async (_, isLate) => {
  const stage = await setStage({ web: {} });
  const { clock } = stage.scene;
  let isForbidden = isLate === 0;
  const isRemoval = ({ kind, target }: SandboxCall) => {
    if (kind === 'stopContainer' && target !== '') isForbidden = true;
    return isForbidden && kind === 'removeContainer';
  };
  const faults = [{ at: isRemoval, fault: { kind: 'forbid' }, every: true }] as const;
  const { application } = stage.live({ faults, isService: true });
  const end = new AbortController();
  await clock.run(() => application.follow(end.signal));
  const repairing = application.keepUpdating({ schedule: undefined, updateOnStart: false }, end.signal);
  const { containers } = await clock.run(() => application.update(everything));
  expect(containers).toMatchObject([{ name: 'web', outcome: 'updated' }]);
  await clock.advance(3_600_000);
  expect(stage.harm()).toHaveLength(1);
  isForbidden = false;
  await clock.advance(60_000);
  expect(stage.harm()).toEqual([]);
  end.abort();
  await Promise.all([repairing, application.close()]);
});
