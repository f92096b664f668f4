import type { Clock } from '../../../domain/outside/outside.ts';
import type { StepEvent } from '../service/service.ts';

/** Decides which steps are sent: all, but at most four a second about one container's pull. */
export function createPullPace(clock: Pick<Clock, 'monotonicMs'>): (event: StepEvent) => boolean {
  const toldAtMs = new Map<string, number>();
  return (event) => {
    const key = `${event.engine ?? ''}/${event.container}`;
    if (event.kind === 'phase_entered') toldAtMs.delete(key);
    if (event.kind !== 'pull_progress') return true;
    const nowMs = clock.monotonicMs();
    const lastMs = toldAtMs.get(key);
    if (lastMs !== undefined && nowMs - lastMs < shortestMs) return false;
    toldAtMs.set(key, nowMs);
    return true;
  };
}

const shortestMs = 250;
