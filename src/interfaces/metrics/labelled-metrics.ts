import { Gauge, type Registry } from 'prom-client';
import type { EngineState } from '../../domain/outside/engine.ts';
import type { TrackedContainer } from '../../domain/inventory.ts';

/** With several engines, four series for each, with our prefix only. An engine's name needs no escape in a label. */
export function addEngineMetrics(registry: Registry, engines: () => readonly EngineState[]): void {
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
export function addContainerMetrics(
  registry: Registry,
  containers: () => readonly TrackedContainer[],
  hasSeveralEngines: boolean,
): void {
  const families: readonly ContainerFamily[] = [
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

type ContainerFamily = {
  readonly name: string;
  readonly help: string;
  readonly label?: string;
  readonly read: (container: TrackedContainer) => { readonly value: number; readonly label?: string } | undefined;
};

/** Four series each: about 600 kB of text at the bound. */
const maxContainers = 1000;

/** Collectors of the Watchtower family split every sample line at its one space. */
function inOneWord(text: string): string {
  return text.replaceAll(/\s/g, '_');
}
