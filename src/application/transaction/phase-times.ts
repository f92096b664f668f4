import type { Clock } from '../../domain/outside/outside.ts';
import type { PhaseTimes, UpdatePhase } from '../../domain/run/session.ts';

/** How long containers were in each phase of their update. */
export type PhaseWatch = {
  /** Ends the phase before, if there was one. */
  readonly enter: (container: string, phase: UpdatePhase) => void;
  /** Up to now; undefined for a container that has entered none. */
  readonly read: (container: string) => PhaseTimes | undefined;
};

export function createPhaseWatch(clock: Pick<Clock, 'monotonicMs'>): PhaseWatch {
  const ended = new Map<string, PhaseTimes>();
  const current = new Map<string, { readonly phase: UpdatePhase; readonly sinceMs: number }>();

  function read(container: string): PhaseTimes | undefined {
    const times = ended.get(container);
    const last = current.get(container);
    if (last === undefined) return times;
    return { ...times, [last.phase]: (times?.[last.phase] ?? 0) + clock.monotonicMs() - last.sinceMs };
  }

  return {
    enter(container, phase) {
      const times = read(container);
      if (times !== undefined) ended.set(container, times);
      current.set(container, { phase, sinceMs: clock.monotonicMs() });
    },
    read,
  };
}
