import type { Clock } from '../../domain/outside/outside.ts';
import type { PhaseTimes, UpdatePhase } from '../../domain/run/session.ts';

/** The time that containers spend in each phase of their update. */
export type PhaseWatch = {
  /** Enters a phase and ends the one before. */
  readonly enter: (container: string, phase: UpdatePhase) => void;
  /** Adds the time of a phase that has already ended. */
  readonly add: (container: string, phase: UpdatePhase, ms: number) => void;
  /** The times so far. Undefined for a container without a phase. */
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
    add: (container, phase, ms) => void ended.set(container, { ...ended.get(container), [phase]: ms }),
    read,
  };
}
