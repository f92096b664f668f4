import { describe, expect, onTestFinished, test } from 'vitest';
import {
  containerOutcome,
  createFakeApplication,
  type FakeAnswers,
  session,
} from '../../../test/support/scene/fake-application.ts';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { aTrackedContainer } from '../../../test/support/scene/tracked-container.ts';
import { inspectedContainer } from '../../../test/support/scene/builders.ts';
import type { Container } from '../../domain/container/container.ts';
import type { ContainerOutcome } from '../../domain/run/session.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import type { Inventory, TrackedContainer } from '../../domain/inventory.ts';
import type { Entities } from '../../domain/home-assistant.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { createEntityKeeper } from './entity-keeper.ts';

type RequestResult = Parameters<Parameters<typeof createEntityKeeper>[0]['tell']>[0];

const web = aTrackedContainer({
  version: '1.2.0',
  staleness: 'stale',
  updateAvailable: true,
  latestVersion: '1.3.0',
  checkedAtMs: 7,
});

function start(
  answers: FakeAnswers = {},
  inspect: () => Promise<Container | undefined> = () => Promise.resolve(undefined),
) {
  const clock = createFakeClock();
  const application = createFakeApplication(answers);
  let inventory: Inventory = application.inventory();
  const shown: Entities[] = [];
  const told: RequestResult[] = [];
  const stop = new AbortController();
  const keeper = createEntityKeeper({
    application: { ...application, inventory: () => inventory },
    settings: defaultSettings,
    clock,
    log: { warn: () => undefined },
    show: (entities) => void shown.push(entities),
    tell: (result) => void told.push(result),
    inspect,
  });
  const over = keeper.run(stop.signal);
  onTestFinished(() => stop.abort());
  return {
    clock,
    application,
    shown,
    told,
    keeper,
    now: () => shown.at(-1)?.containers[0],
    list: async (...containers: readonly TrackedContainer[]) => {
      inventory = { ...inventory, known: true, revision: inventory.revision + 1, containers };
      await clock.advance(1000);
    },
    end: async () => {
      stop.abort();
      await over;
    },
  };
}

const run = { runId: 'r', atMs: 0 };

test('containers are shown when they are known, and again when one of them is otherwise', async () => {
  const { clock, application, shown, list, end } = start();
  await clock.advance(5000);
  expect(shown).toEqual([]);
  await list(aTrackedContainer({ version: '1.2.0' }));
  expect(shown).toMatchObject([{ lastCheckAtMs: undefined, containers: [{ name: 'web', installedVersion: '1.2.0' }] }]);
  await list(web);
  expect(shown[1]).toMatchObject({ lastCheckAtMs: 7, updatesAvailable: 1, containers: [{ latestVersion: '1.3.0' }] });
  await clock.advance(300_000);
  expect(shown).toHaveLength(2);
  await end();
  expect([application.listeners(), clock.sleepers()]).toEqual([0, 0]);
});

test('an update shows its progress, which never goes back before its end', async () => {
  const { clock, application, shown, list, now } = start();
  await list(web);
  const container = 'web';
  application.publish({ kind: 'update_started', container, image: 'nginx', from: '', to: '', ...run });
  await clock.advance(1000);
  expect(now()).toMatchObject({ isUpdating: true });
  expect(now()).not.toHaveProperty('percent');
  for (const bytes of [10, 50, 100]) {
    const progress = { layersDone: 0, layers: 1, bytes, totalBytes: 100 };
    application.publish({ kind: 'pull_progress', runId: 'r', container, progress });
    await clock.advance(1000);
  }
  for (const phase of ['preparing', 'stopping', 'starting', 'checking health'] as const) {
    application.publish({ kind: 'phase_entered', runId: 'r', container, phase });
    await clock.advance(1000);
  }
  await clock.advance(20_000);
  application.publish({ kind: 'phase_entered', runId: 'r', container, phase: 'committing' });
  await clock.advance(1000);
  const percents = shown.flatMap(({ containers }) => containers[0]?.percent ?? []);
  expect(percents.slice(0, 3)).toEqual([5, 25, 50]);
  expect(percents.at(-1)).toBe(95);
  expect(percents.length).toBeGreaterThan(12);
  expect(percents).toEqual(percents.toSorted((one, next) => one - next));
  application.publish({ kind: 'update_failed', outcome: containerOutcome('web', { outcome: 'failed' }), ...run });
  await clock.advance(6000);
  expect(now()).toMatchObject({ isUpdating: false });
  expect(now()).not.toHaveProperty('percent');
});

test('a check that ends during an update does not end it', async () => {
  const { clock, application, list, now } = start();
  await list(web);
  application.publish({ kind: 'update_started', container: 'web', image: 'nginx', from: '', to: '', ...run });
  const counts = { scanned: 1, updated: 0, failed: 0, restarted: 0, skipped: 0 };
  application.publish({ kind: 'scan_completed', runId: 'c', purpose: 'check', session: undefined, atMs: 0, ...counts });
  await clock.advance(1000);
  expect(now()).toMatchObject({ isUpdating: true });
  application.publish({
    kind: 'scan_completed',
    runId: 'r',
    purpose: 'update',
    session: undefined,
    atMs: 0,
    ...counts,
  });
  await clock.advance(1000);
  expect(now()).toMatchObject({ isUpdating: false });
});

test('the time of the last check never goes back', async () => {
  const { list, shown } = start();
  await list(web, aTrackedContainer({ id: 'c2', name: 'db', checkedAtMs: 50, staleness: 'fresh' }));
  await list({ ...web, staleness: 'unknown', checkedAtMs: undefined });
  expect(shown.map(({ lastCheckAtMs }) => lastCheckAtMs)).toEqual([50, 50]);
});

describe('Install', () => {
  const cases: readonly (readonly [
    string,
    Partial<ContainerOutcome>,
    Omit<RequestResult, 'container'>,
    summary: string,
  ])[] = [
    [
      'is the person’s word',
      { outcome: 'updated', from: '1.2.0', to: '1.3.0' },
      { kind: 'updated', text: 'Updated from 1.2.0 to 1.3.0' },
      '',
    ],
    [
      'says why it failed',
      { outcome: 'rolled_back', reason: 'Exited with code 1' },
      { kind: 'failed', text: 'Failed and rolled back: Exited with code 1' },
      'Failed and rolled back: Exited with code 1',
    ],
    [
      'says why it did nothing',
      { outcome: 'skipped', reason: 'is paused, and a paused container cannot be stopped' },
      { kind: 'refused', text: 'Not updated: Is paused, and a paused container cannot be stopped' },
      'Not updated: Is paused, and a paused container cannot be stopped',
    ],
    [
      'says that there is nothing to do',
      { outcome: 'fresh', reason: '' },
      { kind: 'refused', text: 'Nothing to do: it is up to date' },
      'Nothing to do: it is up to date',
    ],
  ];
  test.each(cases)('%s', async (_, outcome, result, summary) => {
    const update = () => session([containerOutcome('web', outcome)]);
    const { keeper, list, told, now, application, clock } = start({ update });
    await list({ ...web, staleness: 'held', hold: 'monitor-only', monitorOnly: true, reason: 'Monitored only' });
    expect(now()?.summary).toBe('Monitored only');
    await keeper.install('web', new AbortController().signal);
    const order = {
      images: [],
      containers: ['web'],
      kind: 'container',
      trigger: 'http',
      by: 'Home Assistant',
      byPerson: true,
      refuseUnmatched: true,
    };
    expect(application.asked).toEqual([['update', order]]);
    expect(told).toEqual([{ container: 'web', ...result }]);
    expect(now()?.summary).toBe(summary || 'Monitored only');
    // The next check has a reason of its own.
    application.publish({ kind: 'container_checked', runId: 'c', container: 'web', image: '', status: '', reason: '' });
    await clock.advance(1000);
    expect(now()?.summary).toBe('Monitored only');
  });

  test.each<[string, Partial<TrackedContainer>, string]>([
    ['a service', { kind: 'service' }, 'service'],
    ['the container beside a service', { kind: 'container' }, 'container'],
  ])('of %s updates nothing else of that name', async (_, changes, kind) => {
    const { keeper, list, application } = start({ update: () => session([]) });
    const other = aTrackedContainer({ id: 's', kind: kind === 'service' ? 'container' : 'service' });
    for (const beside of [[], [other]]) {
      await list({ ...web, ...changes }, ...beside);
      const name = beside.length > 0 && kind === 'service' ? 'web service' : 'web';
      await keeper.install(name, new AbortController().signal);
      expect(application.asked.at(-1)).toEqual(['update', expect.objectContaining({ containers: ['web'], kind })]);
    }
    expect(application.asked).toHaveLength(2);
  });

  test('shows the update at once, and a second press meanwhile does nothing', async () => {
    let finish = () => {};
    const done = new Promise<void>((resolve) => (finish = resolve));
    const update = async () => {
      await done;
      return session([containerOutcome('web', { outcome: 'updated' })]);
    };
    const { keeper, list, now, application, told } = start({ update });
    await list(web);
    const { signal } = new AbortController();
    const first = keeper.install('web', signal);
    expect(now()).toMatchObject({ isUpdating: true });
    await keeper.install('web', signal);
    finish();
    await first;
    expect(application.asked).toHaveLength(1);
    expect(told).toHaveLength(1);
    expect(now()).toMatchObject({ isUpdating: false });
  });

  test('tells a run that fails as a whole', async () => {
    const update = () => Promise.reject(new ServiceError('engine-unreachable', 'Cannot reach the engine'));
    const { keeper, list, now, told } = start({ update });
    await list(web);
    await keeper.install('web', new AbortController().signal);
    expect(told).toEqual([{ kind: 'failed', container: 'web', text: 'Cannot reach the engine' }]);
    expect(now()).toMatchObject({ isUpdating: false, summary: 'Cannot reach the engine' });
  });

  test.each<[string, Partial<TrackedContainer>, boolean, RegExp]>([
    ['pinned', { staleness: 'pinned' }, false, /pinned to a digest/],
    ['started with --rm', {}, true, /--rm/],
  ])('of a container that is %s only says so', async (_, changes, AutoRemove, why) => {
    const { keeper, list, now, application, told, clock } = start({}, () =>
      Promise.resolve(inspectedContainer('web', { host: { AutoRemove } })),
    );
    await list({ ...web, ...changes });
    await clock.advance(1000);
    expect(now()?.notInstallable).toMatch(why);
    await keeper.install('web', new AbortController().signal);
    expect(application.asked).toEqual([]);
    expect(told).toEqual([{ kind: 'refused', container: 'web', text: expect.stringMatching(why) }]);
    expect(now()?.summary).toMatch(why);
  });
});
