import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ServiceEvent } from '../../domain/run/event.ts';
import { fleetKeyOf } from '../../domain/run/session.ts';
import type { Clock } from '../../domain/outside/outside.ts';
import type { EngineState } from '../../domain/outside/engine.ts';
import type { TrackedContainer } from '../../domain/inventory.ts';

export type Metrics = {
  /** For `subscribe`. */
  readonly record: (event: ServiceEvent) => void;
  /** All metrics in the text format 0.0.4. */
  readonly text: () => Promise<string>;
};

export type MetricsParts = {
  readonly clock: Pick<Clock, 'monotonicMs' | 'nowMs'>;
  /** Containers with a known newer version; undefined while no check has told. */
  readonly updatesAvailable: () => number | undefined;
  /** Containers that ran before an update, which has left them down. */
  readonly containersDown?: () => number;
  readonly version: string;
  /** Present if each container has series of its own. */
  readonly containers?: () => readonly TrackedContainer[];
  /** Requests for release notes, by host and result. */
  readonly notesRequests?: () => ReadonlyMap<string, number>;
  /** The watched containers, of which those with a newer version are counted by the state of its release notes. */
  readonly notesOf?: () => readonly Pick<TrackedContainer, 'notes'>[];
  /** Present with several engines. */
  readonly engines?: () => readonly EngineState[];
};

/**
 * Counts events. The families that clients of the Watchtower family read have both prefixes and no labels. All exist
 * from the start, because a graph cannot distinguish "none yet" from "removed"; a value that is not known is absent.
 */
export function createMetrics(parts: MetricsParts): Metrics {
  const {
    clock,
    updatesAvailable,
    containersDown = () => 0,
    version,
    containers,
    engines,
    notesOf,
    notesRequests,
  } = parts;
  const registry = new Registry();
  const families = familyIn(registry);

  const lastRun = {
    scanned: families.gauge('containers_scanned', 'Containers scanned by the last update'),
    updated: families.gauge('containers_updated', 'Containers updated by the last update'),
    failed: families.gauge('containers_failed', 'Containers whose update failed in the last update'),
    restarted: families.gauge('containers_restarted', 'Containers restarted for a linked one in the last update'),
    skipped: families.gauge('containers_skipped', 'Containers skipped by the last update'),
  };
  const restarted = families.counter('containers_restarted_total', 'Containers restarted for a linked one');
  const scans = families.counter('scans_total', 'Updates since the start');
  const skipped = families.counter('scans_skipped_total', 'Updates skipped because another one was running');
  const skippedOfOld = new Gauge({
    name: 'watchtower_scans_skipped',
    // As a counter it would need another name: https://prometheus.io/docs/practices/naming/
    help: 'The same, under its name in the first Watchtower',
    registers: [registry],
  });
  families.counter('metrics_dropped_total', 'Events that were not counted');
  const rollbacks = families.own.counter('rollbacks_total', 'Containers that were rolled back');
  const lastRunAt = families.own.gauge('last_run_timestamp_seconds', 'When the last update ended, 0 before the first');
  families.own.gauge(
    'updates_available',
    'Containers with a known newer version, absent before the first check',
    updatesAvailable,
  );
  families.own.gauge('containers_down', 'Containers that an interrupted update has left down', containersDown);
  const runTime = families.own.histogram('run_duration_seconds', 'How long updates took', minutes);
  const pullTime = families.own.histogram('pull_duration_seconds', 'How long pulls took', minutes);
  const downtime = families.own.histogram('downtime_seconds', 'How long updated containers were down', seconds);
  const healthTime = families.own.histogram(
    'health_duration_seconds',
    'How long new versions took to pass or fail their health check',
    minutes,
  );
  const copiedBytes = families.own.counter('data_copied_bytes_total', 'Bytes of data that updates have copied');
  const restoredBytes = families.own.counter('data_restored_bytes_total', 'Bytes of data that rollbacks have put back');
  const copyFailures = families.own.counter('data_copy_failures_total', 'Copies of data that failed');
  const restoreFailures = families.own.counter('data_restore_failures_total', 'Data that could not be put back');
  const savingTime = families.own.histogram('data_copy_seconds', 'How long copies of data took', seconds);
  const restoringTime = families.own.histogram('data_restore_seconds', 'How long it took to put data back', seconds);
  const registryTime = families.own.histogram(
    'registry_duration_seconds',
    'Time from the start of a scan to the result for each container',
    seconds,
  );
  const composeFiles = new Counter({
    name: 'upkeep_compose_files_total',
    help: 'Compose files after an update or a rollback to another tag',
    labelNames: ['state'],
    registers: [registry],
  });
  for (const state of ['written', 'put-back', 'pending', 'refused', 'failed']) composeFiles.inc({ state }, 0);
  if (notesOf !== undefined) addNotesMetrics(registry, notesOf, notesRequests);
  if (engines !== undefined) addEngineMetrics(registry, engines);
  if (containers !== undefined) addContainerMetrics(registry, containers, engines !== undefined);
  addProcessMetrics(registry, { version, nowMs: clock.nowMs() });

  const checkStartedAtMs = new Map<string, number>();
  const pulls = new Map<string, number>();
  const since = (beganMs: number): number => (clock.monotonicMs() - beganMs) / 1000;

  function endPull(key: string): void {
    const beganMs = pulls.get(key);
    if (beganMs !== undefined) pullTime.observe(since(beganMs));
    pulls.delete(key);
  }

  /** Drops the data of an interrupted run, so that it does not accumulate. */
  function forget(runId: string): void {
    checkStartedAtMs.delete(runId);
    for (const key of pulls.keys()) if (key.startsWith(`${runId} `)) pulls.delete(key);
  }

  function record(event: ServiceEvent): void {
    switch (event.kind) {
      case 'containers_selected':
        checkStartedAtMs.set(event.runId, clock.monotonicMs());
        if (checkStartedAtMs.size > maxOpen) for (const oldest of checkStartedAtMs.keys()) return forget(oldest);
        break;
      case 'container_checked': {
        const beganMs = checkStartedAtMs.get(event.runId);
        if (beganMs !== undefined) registryTime.observe(since(beganMs));
        break;
      }
      case 'phase_entered': {
        const { runId, engine, container: name, entryKind: kind } = event;
        const key = `${runId} ${fleetKeyOf(engine, { name, kind })}`;
        endPull(key);
        if (event.phase === 'pulling') pulls.set(key, clock.monotonicMs());
        break;
      }
      case 'update_completed':
      case 'update_failed':
      case 'update_deferred': {
        const { downtimeMs, outcome, phases, data, sharesCopy } = event.outcome;
        endPull(`${event.runId} ${fleetKeyOf(event.engine, event.outcome)}`);
        if (downtimeMs !== undefined) downtime.observe(downtimeMs / 1000);
        const healthMs = phases?.['checking health'];
        if (healthMs !== undefined) healthTime.observe(healthMs / 1000);
        if (outcome === 'rolled_back') rollbacks.inc();
        if (sharesCopy) break;
        if (data !== undefined) copiedBytes.inc(data.bytes);
        if (data?.isRestored === true) restoredBytes.inc(data.bytes);
        const [savingMs, restoringMs] = [phases?.['saving data'], phases?.['restoring data']];
        if (savingMs !== undefined) savingTime.observe(savingMs / 1000);
        if (restoringMs !== undefined) restoringTime.observe(restoringMs / 1000);
        if (savingMs !== undefined && data === undefined) copyFailures.inc();
        if (restoringMs !== undefined && data?.isRestored !== true) restoreFailures.inc();
        break;
      }
      case 'compose_file':
        composeFiles.inc({ state: event.state.state });
        break;
      case 'scan_completed':
        forget(event.runId);
        if (event.purpose === 'check') break;
        for (const name of ['scanned', 'updated', 'failed', 'restarted', 'skipped'] as const) {
          lastRun[name].set(event[name]);
        }
        restarted.inc(event.restarted);
        scans.inc();
        lastRunAt.set(Math.floor(event.atMs / 1000));
        if (event.session !== undefined) runTime.observe(event.session.durationMs / 1000);
        break;
      case 'scan_failed':
        forget(event.runId);
        if (event.purpose === 'update') scans.inc();
        break;
      case 'scan_skipped':
        skipped.inc();
        skippedOfOld.inc();
        break;
      default:
        break;
    }
  }

  return { record, text: async () => withoutBlankLines(await registry.metrics()) };
}

/** Runs without an end, such as dry runs, must not accumulate. */
const maxOpen = 100;

/** Collectors that split every line at its one space, such as Netdata's, fail on an empty line. */
function withoutBlankLines(text: string): string {
  return text.replaceAll(/\n{2,}/g, '\n');
}

const seconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const minutes = [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800];

type Count = { readonly inc: (by?: number) => void };
type Level = { readonly set: (value: number) => void };

/** Creates metrics with our prefix and the family's. `own`: with ours only. */
function familyIn(registry: Registry) {
  const registers = [registry];
  const names = (name: string) => [`upkeep_${name}`, `watchtower_${name}`];
  const asBoth = <Metric>(metrics: readonly Metric[], use: (metric: Metric) => void) => void metrics.forEach(use);
  return {
    gauge(name: string, help: string): Level {
      const gauges = names(name).map((each) => new Gauge({ name: each, help, registers }));
      return { set: (value) => asBoth(gauges, (gauge) => gauge.set(value)) };
    },
    counter(name: string, help: string): Count {
      const counters = names(name).map((each) => new Counter({ name: each, help, registers }));
      return { inc: (by = 1) => asBoth(counters, (counter) => counter.inc(by)) };
    },
    own: {
      gauge: (name: string, help: string, read?: () => number | undefined): Level =>
        new Gauge({
          name: `upkeep_${name}`,
          help,
          registers,
          ...(read && {
            collect() {
              const value = read();
              if (value === undefined) this.remove();
              else this.set(value);
            },
          }),
        }),
      counter: (name: string, help: string): Count => new Counter({ name: `upkeep_${name}`, help, registers }),
      histogram: (name: string, help: string, buckets: number[]) =>
        new Histogram({ name: `upkeep_${name}`, help, buckets, registers }),
    },
  };
}

function addNotesMetrics(
  registry: Registry,
  notesOf: NonNullable<MetricsParts['notesOf']>,
  requests: MetricsParts['notesRequests'] = () => new Map(),
): void {
  const states = ['found', 'none', 'no-source', 'unread', 'off'] as const;
  const notes: Gauge<'state'> = new Gauge({
    name: 'upkeep_notes',
    help: 'Containers with a newer version, by the state of its release notes',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const known = notesOf().flatMap((one) => one.notes?.state ?? []);
      for (const state of states) notes.set({ state }, known.filter((each) => each === state).length);
    },
  });
  const asked: Counter<'host' | 'result'> = new Counter({
    name: 'upkeep_notes_requests_total',
    help: 'Requests for release notes',
    labelNames: ['host', 'result'],
    registers: [registry],
    collect() {
      asked.reset();
      for (const [key, count] of requests()) {
        const [host = '', result = ''] = key.split(' ');
        asked.inc({ host, result }, count);
      }
    },
  });
}

/** With several engines, four series for each, with our prefix only. An engine's name needs no escape in a label. */
function addEngineMetrics(registry: Registry, engines: () => readonly EngineState[]): void {
  const families: readonly (readonly [
    name: string,
    help: string,
    read: (engine: EngineState) => number | undefined,
  ])[] = [
    ['up', 'Whether the engine answers', ({ reachable }) => (reachable === true ? 1 : 0)],
    ['containers', 'Watched containers of the engine', ({ containers }) => containers],
    [
      'updates_available',
      'Containers of the engine with a known newer version',
      ({ updatesAvailable }) => updatesAvailable,
    ],
    [
      'last_run_timestamp_seconds',
      'When the last update on the engine ended, 0 before the first',
      ({ lastRunAtMs = 0 }) => Math.floor(lastRunAtMs / 1000),
    ],
  ];
  for (const [name, help, read] of families) {
    const gauge = new Gauge({
      name: `upkeep_engine_${name}`,
      help,
      labelNames: ['engine'],
      registers: [],
      collect() {
        this.reset();
        for (const engine of engines()) {
          const value = read(engine);
          if (value !== undefined) this.set({ engine: engine.name }, value);
        }
      },
    });
    registry.registerMetric(gauge);
  }
}

/**
 * Series of each watched container, of the first 1,000, with our prefix only. A value that is not known yet has no
 * series: 0 would mean "up to date" or "1970". With several engines each has the label `engine`.
 */
function addContainerMetrics(
  registry: Registry,
  containers: () => readonly TrackedContainer[],
  hasSeveralEngines: boolean,
): void {
  const families: readonly {
    readonly name: string;
    readonly help: string;
    readonly label?: string;
    readonly read: (container: TrackedContainer) => { readonly value: number; readonly label?: string } | undefined;
  }[] = [
    {
      name: 'update_available',
      help: 'Whether the last check found a newer version of the container',
      read: ({ staleness, updateAvailable }) =>
        staleness === undefined || (staleness === 'unknown' && !updateAvailable)
          ? undefined
          : { value: +updateAvailable },
    },
    {
      name: 'state',
      help: 'Always 1; the label has the state of the container in its engine',
      label: 'state',
      read: ({ status }) => ({ value: 1, label: status }),
    },
    {
      name: 'last_outcome',
      help: 'Always 1; the label has the newest outcome of an update of the container',
      label: 'outcome',
      read: ({ last }) => last && { value: 1, label: last.outcome.outcome },
    },
    {
      name: 'last_check_timestamp_seconds',
      help: 'When the container was last checked',
      read: ({ checkedAtMs }) => (checkedAtMs === undefined ? undefined : { value: Math.floor(checkedAtMs / 1000) }),
    },
  ];
  for (const { name, help, label, read } of families) {
    const labelNames = [...(hasSeveralEngines ? ['engine'] : []), 'container', 'image', ...(label ? [label] : [])];
    const gauge = new Gauge({
      name: `upkeep_container_${name}`,
      help,
      labelNames,
      registers: [],
      collect() {
        this.reset();
        for (const container of containers().slice(0, maxContainers)) {
          const sample = read(container);
          if (sample === undefined) continue;
          const { engine, name: ownName, image } = container;
          const own = {
            ...(hasSeveralEngines && { engine: engine ?? '' }),
            container: ownName,
            image: inOneWord(image),
          };
          this.set(label === undefined ? own : { ...own, [label]: inOneWord(sample.label ?? '') }, sample.value);
        }
      },
    });
    registry.registerMetric(gauge);
  }
}

/** Four series each: about 600 kB of text at the bound. */
const maxContainers = 1000;

/** Collectors of the Watchtower family split every sample line at its one space. */
function inOneWord(text: string): string {
  return text.replaceAll(/\s/g, '_');
}

/**
 * Process metrics of the Prometheus guidelines:
 * https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics. The library's own set would wake an
 * idle process a hundred times a second to measure the event loop.
 */
function addProcessMetrics(
  registry: Registry,
  { version, nowMs }: { readonly version: string; readonly nowMs: number },
): void {
  const registers = [registry];
  let counted = 0;
  const cpu = new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time in user and system mode, in seconds',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      const total = (user + system) / 1e6;
      cpu.inc(Math.max(0, total - counted));
      counted = Math.max(counted, total);
    },
  });
  const processStart = Math.round(nowMs / 1000 - process.uptime());
  gauge('process_start_time_seconds', 'When the process started, in seconds since the epoch', () => processStart);
  gauge('process_resident_memory_bytes', 'Resident memory', () => process.memoryUsage.rss());
  gauge('process_heap_bytes', 'Heap in use', () => process.memoryUsage().heapUsed);
  new Gauge({
    name: 'upkeep_build_info',
    help: 'Always 1; its labels contain the versions',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version: version.replaceAll(/\s/g, '_'), node: process.version }, 1);

  function gauge(name: string, help: string, read: () => number): void {
    const made: Gauge = new Gauge({ name, help, registers, collect: () => made.set(read()) });
  }
}
