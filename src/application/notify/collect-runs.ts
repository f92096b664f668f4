import { putNewest } from '../../domain/text/maps.ts';
import { entryKeyOf } from '../../domain/run/session.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import type { RunFacts, RunStep } from '../../domain/notification/run-facts.ts';
import type { ContainerOutcome } from '../../domain/run/session.ts';

/** A finished run, before its links and versions are looked up. */
export type CollectedRun = Omit<RunFacts, 'news' | 'imageLabels'> & {
  /** Targets from the labels of containers, by `entryKeyOf`. */
  readonly recipients: Readonly<Record<string, readonly string[]>>;
};

type OpenRun = Pick<CollectedRun, 'runId' | 'purpose' | 'trigger' | 'startedAtMs'> & {
  recipients: CollectedRun['recipients'];
  readonly checked: ContainerOutcome[];
  readonly steps: RunStep[];
  readonly removedImages: RunFacts['removedImages'][number][];
};

/** Listens to the events of runs, and calls `onEnd` once for each run that has ended. */
export function collectRuns(onEnd: (run: CollectedRun) => void): (event: ServiceEvent) => void {
  const open = new Map<string, OpenRun>();

  function end(
    runId: string,
    end: Pick<RunFacts, 'endedAtMs' | 'error'>,
    containers?: readonly ContainerOutcome[],
  ): void {
    const run = open.get(runId);
    if (run === undefined) return;
    open.delete(runId);
    const { checked, ...facts } = run;
    onEnd({ ...facts, ...end, containers: containers ?? checked });
  }

  return (event) => {
    if (event.kind === 'scan_started') {
      const { runId, purpose, trigger, atMs: startedAtMs } = event;
      const run = { runId, purpose, trigger, startedAtMs, recipients: {}, checked: [], steps: [], removedImages: [] };
      return putNewest(open, runId, run, mostOpen);
    }
    const run = 'runId' in event ? open.get(event.runId) : undefined;
    if (run === undefined) return;
    switch (event.kind) {
      case 'containers_selected':
        // With several engines, each one publishes its own selection.
        run.recipients = { ...run.recipients, ...event.recipients };
        break;
      case 'container_checked':
        if (run.purpose === 'check') run.checked.push(...outcomeOfCheck(event));
        break;
      case 'update_started':
        run.steps.push({
          kind: 'started',
          key: entryKeyOf({ name: event.container, kind: event.entryKind }),
          atMs: event.atMs,
        });
        break;
      case 'update_completed':
      case 'update_failed':
      case 'update_deferred':
        run.steps.push({ kind: 'ended', key: entryKeyOf(event.outcome), atMs: event.atMs });
        break;
      case 'image_cleanup':
        run.removedImages.push(...event.images.map((image) => ({ ...image, atMs: event.atMs })));
        break;
      case 'scan_completed':
        end(event.runId, { endedAtMs: event.atMs, error: undefined }, event.session?.containers);
        break;
      case 'scan_failed':
        end(event.runId, { endedAtMs: event.atMs, error: event.error }, []);
        break;
      default:
        break;
    }
  };
}

/** Checks by the API run beside the one update. Runs without an end must not pile up. */
const mostOpen = 100;

/** A check changes nothing: a newer version is reported as available. */
function outcomeOfCheck({
  container,
  entryKind: kind,
  image,
  status,
  reason,
}: ServiceEvent & { kind: 'container_checked' }): ContainerOutcome[] {
  const isNewer = status === 'stale' || status === 'held';
  if (!isNewer && status !== 'unknown') return [];
  const ids = { oldImageId: '', newImageId: '', oldDigest: '', newDigest: '' };
  return [{ name: container, ...(kind && { kind }), image, outcome: isNewer ? 'skipped' : 'unknown', reason, ...ids }];
}
