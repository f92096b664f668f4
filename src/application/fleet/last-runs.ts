import type { ServiceEvent } from '../../domain/run/event.ts';

/** When the last run on each engine ended, milliseconds since the epoch. */
export function createLastRuns(): {
  readonly hear: (event: ServiceEvent) => void;
  readonly of: (engine: string) => number | undefined;
} {
  const times = new Map<string, number>();
  return {
    hear(event) {
      if (event.kind !== 'scan_completed') return;
      for (const { name, result } of event.session?.engines ?? []) if (result === 'ran') times.set(name, event.atMs);
    },
    of: (engine) => times.get(engine),
  };
}
