import type { Clock } from '../../../domain/outside/outside.ts';
import type { StepEvent } from '../service/parts.ts';

/** Accepts every step, except pull progress: at most four a second for each container. */
export function createPullThrottle(clock: Pick<Clock, 'monotonicMs'>): (event: StepEvent) => boolean {
  const sentAtMs = new Map<string, number>();
  return (event) => {
    const key = `${event.engine ?? ''}/${event.container}`;
    if (event.kind === 'phase_entered') sentAtMs.delete(key);
    if (event.kind !== 'pull_progress') return true;
    const nowMs = clock.monotonicMs();
    const lastMs = sentAtMs.get(key);
    if (lastMs !== undefined && nowMs - lastMs < shortestMs) return false;
    sentAtMs.set(key, nowMs);
    return true;
  };
}

const shortestMs = 250;
