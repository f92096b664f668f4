import type { Outside } from '../../domain/outside/outside.ts';
import type { ContainerOutcome, EntryKind, OutcomeKind, UpdatePhase } from '../../domain/run/session.ts';

type Announcer = Pick<Outside, 'publish' | 'clock'>;

/** `from` and `to` are image ids or digests. `to` is empty when it is not known. */
export type BegunChange = {
  readonly name: string;
  readonly entryKind?: EntryKind;
  readonly image: string;
  readonly formerImage?: string | undefined;
  readonly from: string;
  readonly to: string;
};

/** Publishes that the change of one container begins: an update, a restart or a rollback. */
export function announceStart({ publish, clock }: Announcer, runId: string, change: BegunChange): void {
  const { name: container, formerImage, ...images } = change;
  const former = formerImage !== undefined && { formerImage };
  publish({ kind: 'update_started', runId, container, ...images, ...former, atMs: clock.nowMs() });
}

/** Publishes the phase that the change of one container has reached. */
export function announcePhase(
  { publish }: Pick<Announcer, 'publish'>,
  runId: string,
  container: string,
  phase: UpdatePhase,
): void {
  publish({ kind: 'phase_entered', runId, container, phase });
}

/** Publishes the end of the change of one container. */
export function announceEnd({ publish, clock }: Announcer, runId: string, outcome: ContainerOutcome): void {
  publish({ kind: endOf[outcome.outcome], runId, outcome, atMs: clock.nowMs() });
}

const endOf: Readonly<Record<OutcomeKind, 'update_completed' | 'update_failed' | 'update_deferred'>> = {
  updated: 'update_completed',
  went_back: 'update_completed',
  restarted: 'update_completed',
  fresh: 'update_completed',
  deferred: 'update_deferred',
  skipped: 'update_deferred',
  failed: 'update_failed',
  rolled_back: 'update_failed',
  unknown: 'update_failed',
};
