import { Gauge, type Registry } from 'prom-client';
import type { EngineState } from '../../domain/fleet/engine-state.ts';

/** With several engines, four series for each, with our prefix only. An engine's name needs no escape in a label. */
export function addEngineMetrics(registry: Registry, engines: () => readonly EngineState[]): void {
  const families: readonly (readonly [name: string, help: string, read: (engine: EngineState) => number])[] = [
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
        for (const engine of engines()) this.set({ engine: engine.name }, read(engine));
      },
    });
    registry.registerMetric(gauge);
  }
}
