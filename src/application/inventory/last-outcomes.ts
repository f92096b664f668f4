import { putNewest } from '../../domain/text/plain-data.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import { type ContainerOutcome, type PastOutcome, entryKeyOf } from '../../domain/run/session.ts';

/** The newest outcome other than `fresh` of each container, from the runs of this process. */
export type LastOutcomes = {
  readonly hear: (event: ServiceEvent) => void;
  readonly of: (entry: Pick<ContainerOutcome, 'name' | 'kind'>) => PastOutcome | undefined;
  /** Changes with every change of the outcomes. */
  readonly revision: () => number;
};

/** Keeps at most 10,000 outcomes, which is more than an engine has containers. Beyond it, the oldest is dropped. */
export function createLastOutcomes(): LastOutcomes {
  const byKey = new Map<string, PastOutcome>();
  let revision = 0;

  function note(outcome: ContainerOutcome, atMs: number, runId: string): void {
    if (outcome.outcome === 'fresh') return;
    revision += 1;
    putNewest(byKey, entryKeyOf(outcome), { outcome, atMs, runId }, mostRemembered);
  }

  return {
    hear(event) {
      switch (event.kind) {
        case 'update_completed':
        case 'update_failed':
        case 'update_deferred':
          return note(event.outcome, event.atMs, event.runId);
        case 'scan_completed':
          // The session has the version names, and the outcomes without an event of their own.
          for (const outcome of event.session?.containers ?? []) {
            const known = byKey.get(entryKeyOf(outcome));
            note(outcome, known?.runId === event.runId ? known.atMs : event.atMs, event.runId);
          }
          return;
        default:
          return;
      }
    },
    of: (entry) => byKey.get(entryKeyOf(entry)),
    revision: () => revision,
  };
}

const mostRemembered = 10_000;
