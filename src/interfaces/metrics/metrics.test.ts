import { describe, expect, test, vi } from 'vitest';
import type { ServiceEvent } from '../../domain/run/event.ts';
import type { ContainerOutcome } from '../../domain/run/session.ts';
import { aTrackedContainer } from '../../../test/support/scene/tracked-container.ts';
import type { TrackedContainer } from '../../domain/inventory.ts';
import { createMetrics, type MetricsParts } from './metrics.ts';

const prefixes = ['upkeep_', 'watchtower_'];
const gauges = [
  'containers_scanned',
  'containers_updated',
  'containers_failed',
  'containers_restarted',
  'containers_skipped',
];
const counters = ['containers_restarted_total', 'scans_total', 'scans_skipped_total', 'metrics_dropped_total'];

describe('createMetrics()', () => {
  test.each(prefixes.flatMap((prefix) => [...gauges, ...counters].map((name) => prefix + name)))(
    '%s is there from the start, without labels, at 0',
    async (name) => {
      const text = await scene().text();
      expect(text.split('\n')).toContain(`${name} 0`);
      expect(text).toContain(`# TYPE ${name} ${name.endsWith('_total') ? 'counter' : 'gauge'}\n`);
      expect(text).toMatch(new RegExp(`# HELP ${name} \\S`));
    },
  );

  test('the number of updates has no sample while it is unknown', async () => {
    let count: number | undefined = 3;
    const metrics = createMetrics({
      clock: { monotonicMs: () => 0, nowMs: () => 0 },
      updatesAvailable: () => count,
      version: '1.2.3',
    });
    const samples = async () =>
      (await metrics.text()).split('\n').filter((line) => line.startsWith('upkeep_updates_available'));
    expect(await samples()).toEqual(['upkeep_updates_available 3']);
    count = undefined;
    expect(await samples()).toEqual([]);
    count = 0;
    expect(await samples()).toEqual(['upkeep_updates_available 0']);
  });

  test.each([
    'watchtower_scans_skipped 0',
    'upkeep_updates_available 7',
    'upkeep_rollbacks_total 0',
    'upkeep_last_run_timestamp_seconds 0',
    'upkeep_run_duration_seconds_count 0',
    'upkeep_pull_duration_seconds_count 0',
    'upkeep_downtime_seconds_count 0',
    'upkeep_health_duration_seconds_count 0',
    'upkeep_registry_duration_seconds_count 0',
    'upkeep_data_copied_bytes_total 0',
    'upkeep_data_restored_bytes_total 0',
    'upkeep_data_copy_failures_total 0',
    'upkeep_data_restore_failures_total 0',
    'upkeep_data_copy_seconds_count 0',
    'upkeep_data_restore_seconds_count 0',
    `upkeep_build_info{version="1.2.3",node="${process.version}"} 1`,
  ])('%s is there from the start', async (line) => {
    expect((await scene().text()).split('\n')).toContain(line);
  });

  test.each([
    'process_cpu_seconds_total',
    'process_start_time_seconds',
    'process_resident_memory_bytes',
    'process_heap_bytes',
  ])('%s measures this process', async (name) => expect(await valueOf(scene(), name)).toBeGreaterThan(0));

  test('process_start_time_seconds does not move while the process runs', async () => {
    const metrics = scene();
    const before = await valueOf(metrics, 'process_start_time_seconds');
    const uptime = vi.spyOn(process, 'uptime').mockReturnValue(process.uptime() + 3600);
    expect(await valueOf(metrics, 'process_start_time_seconds')).toBe(before);
    uptime.mockRestore();
  });

  test('has exactly one space on every sample line, whatever has happened', async () => {
    const metrics = scene();
    metrics.record(completed({ updated: 1 }));
    const lines = (await metrics.text()).split('\n');
    expect(lines.pop()).toBe('');
    const samples = lines.filter((line) => !line.startsWith('#'));
    expect(samples.length).toBeGreaterThan(50);
    for (const line of samples) expect(line).toMatch(/^[a-z_]+(?:\{[^ ]*\})? [\d.e+-]+$/);
  });

  test('counts release notes by their state, and the requests for them by host and result', async () => {
    const requests = new Map([['github.com answered', 3]]);
    const notes = { state: 'found' } as NonNullable<TrackedContainer['notes']>;
    const metrics = createMetrics({
      clock: { monotonicMs: () => 0, nowMs: () => 0 },
      updatesAvailable: () => 0,
      version: '1.2.3',
      notesOf: () => [{ notes }, { notes: { ...notes, state: 'unread' } }, { notes }, {}],
      notesRequests: () => requests,
    });
    const samples = async () => (await metrics.text()).split('\n').filter((line) => line.startsWith('upkeep_notes'));
    expect(await samples()).toEqual([
      'upkeep_notes{state="found"} 2',
      'upkeep_notes{state="none"} 0',
      'upkeep_notes{state="no-source"} 0',
      'upkeep_notes{state="unread"} 1',
      'upkeep_notes{state="off"} 0',
      'upkeep_notes_requests_total{host="github.com",result="answered"} 3',
    ]);
    requests.set('github.com answered', 4).set('git.acme.com limited', 1);
    expect((await samples()).slice(5)).toEqual([
      'upkeep_notes_requests_total{host="github.com",result="answered"} 4',
      'upkeep_notes_requests_total{host="git.acme.com",result="limited"} 1',
    ]);
  });

  test('counts the one copy of a group once', async () => {
    const metrics = scene();
    const data = { bytes: 5000, files: 3, isRestored: true };
    const phases = { 'saving data': 500, 'restoring data': 700 };
    for (const sharesCopy of [undefined, true, true] as const) {
      const one = { ...outcome('rolled_back', 1500), data, phases, ...(sharesCopy && { sharesCopy }) };
      metrics.record({ kind: 'update_failed', runId: 'r', outcome: one, atMs: 0 });
    }
    expect(await valueOf(metrics, 'upkeep_rollbacks_total')).toBe(3);
    expect(await valueOf(metrics, 'upkeep_data_copied_bytes_total')).toBe(5000);
    expect(await valueOf(metrics, 'upkeep_data_restored_bytes_total')).toBe(5000);
    expect(await valueOf(metrics, 'upkeep_data_copy_seconds_count')).toBe(1);
    expect(await valueOf(metrics, 'upkeep_data_restore_seconds_sum')).toBe(0.7);
  });

  test('counts compose files by what became of them', async () => {
    const metrics = scene();
    const file = { kind: 'compose_file', container: 'web', atMs: 0 } as const;
    for (const state of ['written', 'refused', 'written'] as const) metrics.record({ ...file, state: { state } });
    expect((await metrics.text()).split('\n').filter((line) => line.startsWith('upkeep_compose_files_total'))).toEqual([
      'upkeep_compose_files_total{state="written"} 2',
      'upkeep_compose_files_total{state="put-back"} 0',
      'upkeep_compose_files_total{state="pending"} 0',
      'upkeep_compose_files_total{state="refused"} 1',
      'upkeep_compose_files_total{state="failed"} 0',
    ]);
  });

  test('shows the counters of the last update under both prefixes', async () => {
    const metrics = scene();
    metrics.record(completed({ scanned: 9, updated: 4, failed: 3, restarted: 2, skipped: 1 }));
    metrics.record(completed({ scanned: 8, updated: 0, failed: 1, restarted: 5, skipped: 0 }));
    for (const prefix of prefixes) {
      expect(await Promise.all(gauges.map((name) => valueOf(metrics, prefix + name)))).toEqual([8, 0, 1, 5, 0]);
      expect(await valueOf(metrics, `${prefix}containers_restarted_total`)).toBe(7);
      expect(await valueOf(metrics, `${prefix}scans_total`)).toBe(2);
    }
    expect(await valueOf(metrics, 'upkeep_last_run_timestamp_seconds')).toBe(1_767_225_600);
    expect(await valueOf(metrics, 'upkeep_run_duration_seconds_sum')).toBe(5);
  });

  test('a check is no update', async () => {
    const metrics = scene();
    metrics.record({ ...completed({ scanned: 9 }), purpose: 'check', session: undefined });
    metrics.record({ kind: 'scan_failed', runId: 'r', purpose: 'check', error: 'x', atMs: 0 });
    expect(await valueOf(metrics, 'upkeep_containers_scanned')).toBe(0);
    expect(await valueOf(metrics, 'upkeep_scans_total')).toBe(0);
  });

  test('an update that failed as a whole is counted', async () => {
    const metrics = scene();
    metrics.record({ kind: 'scan_failed', runId: 'r', purpose: 'update', error: 'x', atMs: 0 });
    expect(await valueOf(metrics, 'watchtower_scans_total')).toBe(1);
  });

  test('counts updates that gave way under all three names', async () => {
    const metrics = scene();
    metrics.record({ kind: 'scan_skipped', trigger: 'http', reason: 'busy', atMs: 0 });
    for (const name of ['upkeep_scans_skipped_total', 'watchtower_scans_skipped_total', 'watchtower_scans_skipped']) {
      expect(await valueOf(metrics, name)).toBe(1);
    }
  });

  test('measures pulls, downtime and answers, and counts rollbacks', async () => {
    let nowMs = 0;
    const metrics = scene(() => nowMs);
    const run = { runId: 'r' };
    metrics.record({ kind: 'containers_selected', ...run, names: ['web'] });
    nowMs = 200;
    metrics.record({ kind: 'container_checked', ...run, container: 'web', image: 'x', status: 'stale', reason: '' });
    metrics.record({ kind: 'phase_entered', ...run, container: 'web', phase: 'pulling' });
    nowMs = 3200;
    metrics.record({ kind: 'phase_entered', ...run, container: 'web', phase: 'preparing' });
    metrics.record({ kind: 'update_failed', ...run, outcome: outcome('rolled_back', 1500), atMs: 0 });
    expect(await valueOf(metrics, 'upkeep_registry_duration_seconds_sum')).toBe(0.2);
    expect(await valueOf(metrics, 'upkeep_pull_duration_seconds_sum')).toBe(3);
    expect(await valueOf(metrics, 'upkeep_downtime_seconds_sum')).toBe(1.5);
    expect(await valueOf(metrics, 'upkeep_rollbacks_total')).toBe(1);
  });

  test('a phase of a service does not end the pull of a container with its name', async () => {
    let nowMs = 0;
    const metrics = scene(() => nowMs);
    const event = { kind: 'phase_entered', runId: 'r', container: 'web' } as const;
    metrics.record({ ...event, phase: 'pulling' });
    nowMs = 1000;
    metrics.record({ ...event, entryKind: 'service', phase: 'starting' });
    nowMs = 3000;
    metrics.record({ ...event, phase: 'preparing' });
    expect(await valueOf(metrics, 'upkeep_pull_duration_seconds_sum')).toBe(3);
  });

  test('dry runs, which have no end, do not accumulate', async () => {
    const metrics = scene();
    const runs = Array.from({ length: 101 }, (_, place) => ({ runId: String(place) }));
    for (const run of runs) metrics.record({ kind: 'containers_selected', ...run, names: ['web'] });
    const checked = { kind: 'container_checked', container: 'web', image: 'x', status: 'stale', reason: '' } as const;
    for (const run of runs) metrics.record({ ...checked, ...run });
    expect(await valueOf(metrics, 'upkeep_registry_duration_seconds_count')).toBe(100);
  });

  test('two in one process do not share their numbers', async () => {
    const [one, other] = [scene(), scene()];
    one.record(completed({ scanned: 3 }));
    expect(await valueOf(other, 'upkeep_containers_scanned')).toBe(0);
  });
});

describe('metrics of containers', () => {
  const container = (name: string, parts: Partial<TrackedContainer> = {}) =>
    ({ ...aTrackedContainer({ name }), ...parts }) satisfies TrackedContainer;
  const linesOf = async (containers: readonly TrackedContainer[], engines?: MetricsParts['engines']) => {
    const clock = { monotonicMs: () => 0, nowMs: () => 0 };
    const parts = { clock, updatesAvailable: () => 0, version: '1', containers: () => containers };
    const metrics = createMetrics({ ...parts, ...(engines && { engines }) });
    return (await metrics.text()).split('\n').filter((line) => line.startsWith('upkeep_container_'));
  };

  test('name the container, its image, its state and its last outcome', async () => {
    const checked = { staleness: 'stale', updateAvailable: true, checkedAtMs: 1_767_225_600_500 } as const;
    const last = { outcome: outcome('rolled_back', 1), atMs: 0, runId: 'r' };
    expect(await linesOf([container('web', { image: 'nginx:1.27', status: 'paused', last, ...checked })])).toEqual([
      'upkeep_container_update_available{container="web",image="nginx:1.27"} 1',
      'upkeep_container_state{container="web",image="nginx:1.27",state="paused"} 1',
      'upkeep_container_last_outcome{container="web",image="nginx:1.27",outcome="rolled_back"} 1',
      'upkeep_container_last_check_timestamp_seconds{container="web",image="nginx:1.27"} 1767225600',
    ]);
  });

  test('have no value that is not known: neither before a check, nor after one without an answer', async () => {
    const unknown = container('db', { staleness: 'unknown', updateAvailable: false, checkedAtMs: 1000 });
    const lines = await linesOf([container('new', { staleness: undefined, checkedAtMs: undefined }), unknown]);
    expect(lines.filter((line) => line.includes('update_available'))).toEqual([]);
    expect(lines.filter((line) => line.includes('last_check'))).toHaveLength(1);
  });

  test('end with their container, stay one word, and are at most a thousand', async () => {
    expect(await linesOf([])).toEqual([]);
    const hostile = await linesOf([container('a', { image: 'b"\\\n c' })]);
    for (const line of hostile) expect(line.split(' ')).toHaveLength(2);
    const many = Array.from({ length: 1200 }, (_, number) => container(`c${number}`));
    const states = (await linesOf(many)).filter((line) => line.includes('_state{'));
    expect(states).toHaveLength(1000);
  });

  test('name the engine of several', async () => {
    const [line] = await linesOf([container('web', { engine: 'nas' })], () => []);
    expect(line).toMatch(/^upkeep_container_\w+\{engine="nas",container="web"/);
  });
});

function scene(monotonicMs = () => 0) {
  const clock = { monotonicMs, nowMs: () => Date.now() };
  return createMetrics({ clock, updatesAvailable: () => 7, version: '1.2.3' });
}

async function valueOf(metrics: ReturnType<typeof scene>, name: string): Promise<number> {
  const line = (await metrics.text()).split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.split(' ')[1]);
}

function completed(counts: object): ServiceEvent & { readonly kind: 'scan_completed' } {
  const session = { runId: 'r', trigger: 'http', startedAtMs: 0, durationMs: 2500, containers: [] } as const;
  const none = { scanned: 0, updated: 0, failed: 0, restarted: 0, skipped: 0 };
  return {
    kind: 'scan_completed',
    runId: 'r',
    purpose: 'update',
    ...none,
    ...counts,
    session,
    atMs: Date.UTC(2026, 0, 1),
  };
}

function outcome(kind: ContainerOutcome['outcome'], downtimeMs: number): ContainerOutcome {
  const ids = { oldImageId: '', newImageId: '', oldDigest: '', newDigest: '' };
  return { name: 'web', image: 'nginx', outcome: kind, reason: 'x', ...ids, downtimeMs };
}
