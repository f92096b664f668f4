import type { ServiceEvent } from '../../../domain/run/event.ts';
import { printable } from '../../../domain/text/printable.ts';

/** Which updates have changed something in the engine and are not over: what a process that ends now leaves behind. */
export function createUnderWay(): {
  readonly hear: (event: ServiceEvent) => void;
  /** Names of containers, safe to print. */
  readonly names: () => readonly string[];
} {
  const begun = new Set<string>();
  return {
    hear: (event) => {
      if (event.kind === 'phase_entered' && event.phase !== 'pulling') begun.add(event.container);
      if ('outcome' in event) begun.delete(event.outcome.name);
    },
    names: () => [...begun].map((name) => printable(name, 300)),
  };
}
