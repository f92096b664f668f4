import { describe, expect, test } from 'vitest';
import type { Behaviour } from '../../../sandbox/base/behaviour.ts';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { openUnitRecords, type UnitRecord } from '../../domain/container/quadlet.ts';
import type { SharedRecords, Units } from '../../domain/outside/outside.ts';
import type { RecoveredTransaction } from '../../domain/run/event.ts';
import { failedVersionsOf } from '../../domain/check/known-versions.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';

const settings = { ...defaultSettings, healthWindowMs: 1000, stopTimeoutMs: 1000 };

/** The update of `web`, which systemd's unit makes, was interrupted when its unit ran version 2. */
async function setScene({ next = {}, runs = '2' }: { readonly next?: Behaviour; readonly runs?: '1' | '2' } = {}) {
  const scene = createSandboxScene();
  const { engine, control } = scene.sandbox;
  const ids: string[] = [];
  for (const version of ['1', '2']) {
    for (const name of ['app', 'other'])
      scene.registry.store.publish(`${name}:1`, { version, behaviour: version === '2' && name === 'app' ? next : {} });
    await engine.pullImage({ reference: 'app:1' });
    ids.push((await engine.inspectImage('app:1'))?.id ?? '');
    if (version === '1') await engine.pullImage({ reference: 'other:1' });
  }
  const [oldImageId = '', newImageId = ''] = ids;
  const start = () => control.runContainer('web', { Image: 'app:1', Labels: { 'upkeep.health-window': '10m' } });
  if (runs === '1') await engine.tagImage(oldImageId, 'app:1');
  start();
  control.runContainer('other', { Image: 'other:1' });
  const record: UnitRecord = {
    ...{ id: 'r1', step: 'begun', atMs: 0, owner: 'gone', container: 'web', unit: 'web.service' },
    ...{ file: '/etc/containers/systemd/web.container', oldId: 'e'.repeat(64), oldImageId, newImageId },
    reference: 'app:1',
  };
  const records = [record];
  const unitRecords: SharedRecords<UnitRecord> = {
    read: async () => records,
    append: async (more) => (records.push(...more), 'kept'),
    fault: () => undefined,
  };
  const units: Units = {
    read: async () => ({ kind: 'held', why: 'nobody asks' }),
    activeState: async () => 'active',
    restart: async () => {
      control.removeContainer('web');
      start();
      return { kind: 'done' };
    },
    write: async () => ({ kind: 'done' }),
  };
  return { scene, records, unitRecords, units };
}

describe('the repair of a unit', () => {
  test.each([
    ['the new version', {}, 20_000],
    ['the old version, after the new one has failed', { next: { exitsAfterMs: 5000, exitCode: 1 } }, 20_000],
    ['the old version', { runs: '1' }, 20_000],
  ] as const)('leaves %s to the next start soon after the process was asked to end', async (_, given, atMs) => {
    const { scene, records, unitRecords, units } = await setScene(given);
    const { clock } = scene;
    const ending = new AbortController();
    const { outside, complaints } = scene.startProcess();
    const application = createApplication({ ...outside, units, ending: ending.signal }, settings, { unitRecords });
    void clock.sleep(atMs).then(() => ending.abort());
    const { transactions } = await clock.run(() => application.recover(ending.signal));
    expect(clock.monotonicMs() - atMs).toBeLessThan(8000);
    const reason = expect.stringMatching(/^repair pending: .*Upkeep was stopped/);
    expect(transactions).toMatchObject([{ containers: ['web'], result: 'left', isPending: true, reason }]);
    expect(openUnitRecords(records)).toHaveLength(1);
    expect(complaints).toEqual([]);
    const failed = failedVersionsOf(await scene.sandbox.engine.listImages());
    expect(failed).toHaveLength('next' in given ? 1 : 0);
    const next = createApplication({ ...scene.startProcess().outside, units }, settings, { unitRecords });
    const { transactions: repaired } = await clock.run(() => next.recover());
    expect(repaired).toMatchObject([{ result: 'next' in given || 'runs' in given ? 'undone' : 'finished' }]);
    expect(openUnitRecords(records)).toEqual([]);
  });

  test.each([
    ['the new version proves itself', {}, 'finished'],
    ['the old version goes back', { runs: '1' }, 'undone'],
  ] as const)('holds up no update of others while %s, and is told at its end', async (_, given, result) => {
    const { scene, records, unitRecords, units } = await setScene(given);
    const { clock } = scene;
    const { outside } = scene.startProcess();
    const application = createApplication({ ...outside, units }, settings, { unitRecords }, { isService: true });
    const told: RecoveredTransaction[] = [];
    application.subscribe((event) => {
      if (event.kind === 'earlier_updates_settled') told.push(...event.transactions);
    });
    const update = (name: string) => application.update({ trigger: 'http', images: [], containers: [name] });
    const beganMs = clock.monotonicMs();
    expect((await update('other')).containers).toMatchObject([{ name: 'other', outcome: 'updated' }]);
    expect(clock.monotonicMs() - beganMs).toBeLessThan(60_000);
    // Neither another run nor another recovery begins the same repair again.
    expect(await application.recover()).toEqual({ transactions: [] });
    expect(openUnitRecords(records)).toHaveLength(1);
    await clock.sleep(700_000);
    expect(openUnitRecords(records)).toEqual([]);
    expect(told).toMatchObject([{ containers: ['web'], result }]);
    await application.close();
  });

  test('in the background is left to the next start when the service closes', async () => {
    const { scene, records, unitRecords, units } = await setScene();
    const { clock } = scene;
    const { outside } = scene.startProcess();
    const application = createApplication({ ...outside, units }, settings, { unitRecords }, { isService: true });
    expect(await application.recover()).toMatchObject({ transactions: [{ containers: ['web'], isUnderWay: true }] });
    const beganMs = clock.monotonicMs();
    await application.close();
    expect(clock.monotonicMs() - beganMs).toBe(4000);
    expect(openUnitRecords(records)).toHaveLength(1);
  });

  test('that fails is told once, and again when it is over', async () => {
    const { scene, records, unitRecords, units } = await setScene({ runs: '1' });
    let state = 'failed';
    const stuck = { ...units, activeState: async () => state };
    const { outside } = scene.startProcess();
    const application = createApplication({ ...outside, units: stuck }, settings, { unitRecords });
    const told: string[] = [];
    application.subscribe((event) => {
      if (event.kind === 'earlier_updates_settled') told.push(...event.transactions.map(({ result }) => result));
    });
    const update = () => application.update({ trigger: 'command', images: [], containers: ['other'] });
    await update();
    await update();
    expect(told).toEqual(['failed']);
    state = 'active';
    await update();
    expect(told).toEqual(['failed', 'undone']);
    expect(openUnitRecords(records)).toEqual([]);
  });
});
