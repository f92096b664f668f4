import type { Clock } from '../../../domain/outside/outside.ts';
import type { StepEvent } from '../service/parts.ts';

export type PullThrottle = {
  /** Whether a step is to be sent: always, except pull progress, at most four times a second for each container. */
  readonly isDue: (event: StepEvent) => boolean;
};

export function createPullThrottle(clock: Pick<Clock, 'monotonicMs'>): PullThrottle {
  /** The last `shortestMs`, oldest first. */
  const sentAtMs = new Map<string, number>();

  function forgetExpired(nowMs: number): void {
    for (const [key, atMs] of sentAtMs) {
      if (nowMs - atMs < shortestMs) return;
      sentAtMs.delete(key);
    }
  }

  return {
    isDue(event) {
      const key = `${event.engine ?? ''}/${event.container}`;
      if (event.kind === 'phase_entered') sentAtMs.delete(key);
      if (event.kind !== 'pull_progress') return true;
      const nowMs = clock.monotonicMs();
      forgetExpired(nowMs);
      if (sentAtMs.has(key)) return false;
      sentAtMs.set(key, nowMs);
      return true;
    },
  };
}

const shortestMs = 250;
