import type { ServiceEvent } from '../../../domain/run/event.ts';
import { printable } from '../../../domain/text/printable.ts';

/** Updates that have changed the engine and have not ended. An exit now would leave them unfinished. */
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
