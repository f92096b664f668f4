import type { Tasks } from '../documents/status.ts';

/** An update of one container while it is under way. */
export type UpdateProgress = {
  readonly phase: Phase;
  /** The percentage of the pull. */
  readonly percent: number | undefined;
  /** Task counts of a service of a swarm. */
  readonly tasks: Tasks | undefined;
  /** The step that failed; undefined unless it is being rolled back. */
  readonly failedIn: Phase | undefined;
  readonly stoppedAtMs: number | undefined;
  /** The downtime, once it runs again. */
  readonly downMs: number | undefined;
};

export const phases = [
  'waiting',
  'pulling',
  'preparing',
  'stopping',
  'starting',
  'checking health',
  'committing',
  'rolling back',
] as const;
export type Phase = (typeof phases)[number];

export const waiting: UpdateProgress = {
  phase: 'waiting',
  percent: undefined,
  tasks: undefined,
  failedIn: undefined,
  stoppedAtMs: undefined,
  downMs: undefined,
};

/** Whether it has no process, or a stopping one. */
export function isDown({ phase, stoppedAtMs }: UpdateProgress): boolean {
  return stoppedAtMs !== undefined && (phase === 'stopping' || phase === 'starting' || phase === 'rolling back');
}

/** The same update in its next phase. `nowMs` is its begin, from which the downtime is counted. */
export function enterPhase(before: UpdateProgress, phase: Phase, nowMs: number): UpdateProgress {
  if (phase === before.phase) return before;
  const stoppedAtMs = phase === 'stopping' ? nowMs : before.stoppedAtMs;
  const isUpAgain = isDown(before) && (phase === 'checking health' || phase === 'committing');
  return {
    phase,
    percent: phase === 'pulling' ? 0 : undefined,
    tasks: undefined,
    failedIn: phase === 'rolling back' ? before.phase : undefined,
    stoppedAtMs,
    downMs: isUpAgain && stoppedAtMs !== undefined ? nowMs - stoppedAtMs : before.downMs,
  };
}

export function phaseNamed(text: string): Phase | undefined {
  const name = text.replaceAll('_', ' ');
  return phases.find((phase) => phase === name);
}
