import type { ServiceEvent } from '../../../domain/run/event.ts';

/**
 * An event of one engine as the fleet publishes it. Undefined for the begin and end of a run, which the fleet publishes
 * itself.
 */
export function withEngine(event: ServiceEvent, engine: string): ServiceEvent | undefined {
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
