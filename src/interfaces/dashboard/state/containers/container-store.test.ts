import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readDecisions, readDetails, withDecisions } from '../documents/container.ts';
import { readStatus } from '../documents/status.ts';
import { createContainerStore, phases, type ContainerStore } from './container-store.ts';

const idle = readStatus({});

function fleetOf(...names: readonly string[]): ContainerStore {
  const fleet = createContainerStore();
  const containers = names.map((name) => ({
    name,
    verdict: 'stale',
    version: '1',
    latest_version: '2',
    digest: 'a',
    latest_digest: 'b',
  }));
  fleet.take(readDetails({ containers }), idle, 0);
  return fleet;
}

const heard = (kind: string, data: Record<string, unknown>) => ({ kind, data, atMs: 1000 });

describe('onEvent()', () => {
  test('an update goes through its phases, and ends with the new version', () => {
    const fleet = fleetOf('web', 'db');
    expect(fleet.onEvent(heard('update_started', { container: 'web' }), 0)).toEqual(['web']);
    expect([fleet.isRunning(), fleet.inRun(), fleet.updateOf('web')?.phase]).toEqual([true, ['web'], 'pulling']);
    fleet.onEvent(heard('pull_progress', { container: 'web', current_bytes: 1, total_bytes: 2 }), 5);
    expect(fleet.updateOf('web')?.percent).toBe(50);
    fleet.onEvent(heard('phase_entered', { container: 'web', phase: 'stopping' }), 10);
    const copied = { container: 'web', phase: 'saving_data', current_bytes: 3, total_bytes: 4 };
    fleet.onEvent(heard('phase_entered', copied), 15);
    expect(fleet.updateOf('web')).toMatchObject({ phase: 'saving data', percent: 75 });
    fleet.onEvent(heard('phase_entered', { container: 'web', phase: 'starting' }), 20);
    expect(fleet.updateOf('web')?.percent).toBeUndefined();
    fleet.onEvent(heard('phase_entered', { container: 'web', phase: 'checking_health' }), 1250);
    expect(fleet.updateOf('web')).toMatchObject({ phase: 'checking health', downMs: 1240 });
    fleet.onEvent(heard('update_completed', { container: 'web', downtime_ms: 1240 }), 2000);
    expect(fleet.named('web')).toMatchObject({
      verdict: 'fresh',
      version: '2',
      latestVersion: '',
      digest: 'b',
      last: { outcome: 'updated', from: '1', to: '2' },
    });
    expect(fleet.updateOf('web')).toBeUndefined();
    fleet.onEvent(heard('scan_completed', {}), 3000);
    expect([fleet.isRunning(), fleet.inRun()]).toEqual([false, []]);
  });

  test('a failure names the step that failed and the version that came back', () => {
    const fleet = fleetOf('web');
    fleet.onEvent(heard('phase_entered', { container: 'web', phase: 'checking health' }), 0);
    fleet.onEvent(heard('phase_entered', { container: 'web', phase: 'rolling back' }), 1);
    expect(fleet.updateOf('web')?.failedIn).toBe('checking health');
    fleet.onEvent(heard('update_failed', { container: 'web', rolled_back: true, error: 'it exited' }), 2);
    expect(fleet.named('web')).toMatchObject({
      verdict: 'held',
      hold: 'failed',
      version: '1',
      last: { outcome: 'rolled_back', reason: 'it exited' },
    });
  });

  test('a rollback that has ended shows no version before the details are read', () => {
    const fleet = fleetOf('web');
    fleet.onEvent(heard('update_started', { container: 'web', rollback: true }), 0);
    const before = fleet.named('web');
    expect(fleet.onEvent(heard('update_completed', { container: 'web' }), 1)).toEqual(['web']);
    expect([fleet.named('web'), fleet.updateOf('web')]).toEqual([before, undefined]);
  });

  test('the end of a check leaves an update under way as it is', () => {
    const fleet = fleetOf('web', 'db');
    fleet.ask(['db']);
    fleet.onEvent(heard('phase_entered', { container: 'web', phase: 'stopping' }), 0);
    for (const kind of ['scan_completed', 'scan_failed']) {
      expect(fleet.onEvent(heard(kind, { purpose: 'check' }), 1)).toEqual([]);
      expect([fleet.updateOf('web')?.phase, fleet.updateOf('db')?.phase]).toEqual(['stopping', 'waiting']);
    }
    fleet.onEvent(heard('scan_completed', { purpose: 'update' }), 2);
    expect(fleet.isRunning()).toBe(false);
  });

  test('an event of a service leaves the container of the same name as it is', () => {
    const fleet = createContainerStore();
    const both = [{ name: 'web' }, { name: 'web', kind: 'service', latest_version: '2' }];
    fleet.take(readDetails({ containers: both }), idle, 0);
    const container = fleet.named('web');
    const data = { container: 'web', kind: 'service' };
    expect(fleet.onEvent(heard('container_checked', { ...data, verdict: 'stale', latest_version: '2' }), 0)).toEqual([
      'web (service)',
    ]);
    fleet.onEvent(heard('phase_entered', { ...data, phase: 'starting' }), 0);
    const run = { run_id: 'r', containers: [{ name: 'web', kind: 'service', phase: 'starting' }] };
    fleet.take(fleet.all(), readStatus({ run }), 0);
    expect([fleet.inRun(), fleet.updateOf('web')]).toEqual([['web (service)'], undefined]);
    fleet.onEvent(heard('update_completed', data), 0);
    expect([fleet.named('web'), fleet.named('web (service)')?.version]).toEqual([container, '2']);
  });

  test('a check tells the version to decide about and the end of its hold, and ends the decision about another', () => {
    const fleet = fleetOf('web');
    const decisions = readDecisions({ decisions: [{ id: '1', decision: 'approve', container: 'web', digest: 'b' }] });
    fleet.take(withDecisions(fleet.all(), decisions), idle, 0);
    const data = { container: 'web', verdict: 'held', hold: 'cooldown', latest_version: '3', latest_digest: 'c' };
    fleet.onEvent(heard('container_checked', { ...data, eligible_at: '1970-01-01T00:00:09Z' }), 0);
    const newer = { latestVersion: '3', latestDigest: 'c', candidateDigest: 'c', eligibleAtMs: 9000 };
    expect(fleet.named('web')).toMatchObject({ ...newer, decision: undefined });
    fleet.onEvent(heard('container_checked', { ...data, candidate_digest: 'b' }), 0);
    expect(fleet.named('web')).toMatchObject({ candidateDigest: 'b', eligibleAtMs: undefined });
  });

  test('a container that could not be checked keeps the time of its last check', () => {
    const fleet = fleetOf('web');
    fleet.onEvent(heard('container_checked', { container: 'web', verdict: 'fresh', version: '1' }), 0);
    expect(fleet.named('web')).toMatchObject({ verdict: 'fresh', checkedAtMs: 1000, latestVersion: '' });
    fleet.onEvent(
      { ...heard('container_checked', { container: 'web', verdict: 'unknown', hold: 'unreachable' }), atMs: 2000 },
      0,
    );
    expect(fleet.named('web')).toMatchObject({ verdict: 'unknown', checkedAtMs: 1000 });
  });

  test('any events in any order change only the containers that they name, and the end of a run clears it', () => {
    const kinds = [
      'update_started',
      'phase_entered',
      'pull_progress',
      'update_completed',
      'update_failed',
      'update_deferred',
      'container_checked',
      'scan_started',
      'nonsense',
    ];
    const event = fc.record({
      kind: fc.constantFrom(...kinds),
      container: fc.constantFrom('web', 'db', 'nobody', ''),
      phase: fc.constantFrom(...phases, 'x'),
      percent: fc.oneof(fc.double(), fc.string()),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        const fleet = fleetOf('web', 'db', 'still');
        const before = fleet.named('still');
        for (const { kind, ...data } of events) {
          const touched = fleet.onEvent(heard(kind, data), 1);
          expect(touched.every((name) => name === data.container)).toBe(true);
        }
        expect(fleet.named('still')).toBe(before);
        fleet.onEvent(heard('scan_completed', {}), 2);
        expect([fleet.isRunning(), fleet.inRun(), fleet.updateOf('web')]).toEqual([false, [], undefined]);
      }),
    );
  });
});

describe('withdraw()', () => {
  test('after a refusal no container waits, and other updates may begin', () => {
    const fleet = fleetOf('web', 'db');
    fleet.ask(['web', 'db']);
    fleet.withdraw(['web', 'db']);
    expect([fleet.isRunning(), fleet.inRun(), fleet.updateOf('web')]).toEqual([false, [], undefined]);
  });

  test('an update that has begun goes on', () => {
    const fleet = fleetOf('web', 'db');
    fleet.ask(['web', 'db']);
    fleet.onEvent(heard('update_started', { container: 'web' }), 0);
    fleet.withdraw(['web', 'db']);
    expect([fleet.isRunning(), fleet.inRun(), fleet.updateOf('web')?.phase]).toEqual([true, ['web'], 'pulling']);
  });
});

describe('take()', () => {
  test('tells what was added, changed and removed, and nothing where all is the same', () => {
    const fleet = fleetOf('web', 'db');
    const same = fleet.all();
    expect(fleet.take(same, idle, 0)).toEqual({ added: [], changed: [], removed: [] });
    const next = readDetails({ containers: [{ name: 'web', verdict: 'fresh' }, { name: 'new' }] });
    expect(fleet.take(next, idle, 0)).toEqual({ added: ['new'], changed: ['web'], removed: ['db'] });
  });

  test('a page that is opened in the middle of a run shows it, and its end though no event told it', () => {
    const fleet = fleetOf('web', 'db');
    const run = {
      run_id: 'r',
      containers: [
        { name: 'web', phase: 'pulling', percent: 40 },
        { name: 'db', phase: 'waiting' },
      ],
    };
    fleet.take(fleet.all(), readStatus({ run }), 0);
    expect([fleet.isRunning(), fleet.inRun(), fleet.updateOf('web')?.percent]).toEqual([true, ['web', 'db'], 40]);
    fleet.take(fleet.all(), idle, 0);
    expect([fleet.isRunning(), fleet.updateOf('web')]).toEqual([false, undefined]);
  });

  test('the tasks of a service are counted by events, by a status, and no longer than they are told', () => {
    const fleet = fleetOf('web');
    const tasks = { running: 2, wanted: 4 };
    fleet.onEvent(heard('phase_entered', { container: 'web', phase: 'starting', tasks }), 0);
    expect(fleet.updateOf('web')?.tasks).toEqual(tasks);
    fleet.onEvent(heard('phase_entered', { container: 'web', phase: 'rolling back' }), 0);
    expect(fleet.updateOf('web')?.tasks).toBeUndefined();
    const run = { run_id: 'r', containers: [{ name: 'web', phase: 'rolling_back', tasks: { running: 3, wanted: 4 } }] };
    fleet.take(fleet.all(), readStatus({ run }), 0);
    expect(fleet.updateOf('web')?.tasks).toEqual({ running: 3, wanted: 4 });
  });

  test('a container that its update has taken from the list stays', () => {
    const fleet = fleetOf('web');
    fleet.onEvent(heard('phase_entered', { container: 'web', phase: 'starting' }), 0);
    expect(fleet.take([], undefined, 0).removed).toEqual([]);
    expect(fleet.named('web')).toBeDefined();
  });

  test('the successor that the list has before the update has ended leaves the versions and the check as they are', () => {
    const fleet = fleetOf('web');
    fleet.onEvent(heard('phase_entered', { container: 'web', phase: 'checking health' }), 0);
    const successor = { name: 'web', id: 'new', version: '2', digest: 'b', health: 'starting' };
    const run = { run_id: 'r', containers: [{ name: 'web', phase: 'checking health' }] };
    const listed = fleet.named('web');
    fleet.take(readDetails({ unfinished: [{ name: 'web', state: 'in progress' }] }), readStatus({ run }), 0);
    expect(fleet.named('web')).toBe(listed);
    fleet.take(readDetails({ containers: [{ ...successor, status: 'running' }] }), readStatus({ run }), 0);
    expect(fleet.named('web')).toMatchObject({
      version: '1',
      latestVersion: '2',
      verdict: 'stale',
      health: 'starting',
    });
    fleet.take(readDetails({ containers: [successor] }), idle, 0);
    expect(fleet.named('web')).toMatchObject({ version: '2', verdict: undefined });
  });
});
