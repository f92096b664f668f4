import type { ServiceEvent } from '../../domain/run/event.ts';

/** An event of one engine as the fleet announces it; undefined for the beginning and end of a run, which are the fleet's own. */
export function ofEngine(event: ServiceEvent, engine: string): ServiceEvent | undefined {
  switch (event.kind) {
    case 'scan_started':
    case 'scan_skipped':
    case 'scan_completed':
    case 'scan_failed':
      return undefined;
    case 'update_completed':
    case 'update_failed':
    case 'update_deferred':
      return { ...event, engine, outcome: { ...event.outcome, engine } };
    case 'earlier_updates_settled':
      return { ...event, engine, transactions: event.transactions.map((one) => ({ ...one, engine })) };
    default:
      return { ...event, engine };
  }
}

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
