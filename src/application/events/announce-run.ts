import { describeError } from '../../domain/text/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ScanPurpose } from '../../domain/run/event.ts';
import { type Session, summarise, type Trigger } from '../../domain/run/session.ts';

/** The events of a run, on one engine or on several with one id. */
export type AnnouncedRun = {
  readonly runId: string;
  readonly trigger: Trigger;
  /** Publishes the begin of the run, once. */
  readonly begin: () => void;
  /** Publishes the failure of the run, and returns it. */
  readonly fail: (error: unknown) => unknown;
  /** Publishes the end of a run that changes containers, and returns its session. */
  readonly end: (reached: Pick<Session, 'containers' | 'engines'>) => Session;
  /** Publishes the end of a check. */
  readonly endCheck: (containers: readonly { readonly error?: unknown }[]) => void;
  readonly times: () => { readonly startedAtMs: number; readonly durationMs: number };
};

/** The run begins now; the events follow when its parts know that they are not busy. */
export function announceRun(
  { clock, newId, publish }: Pick<Outside, 'clock' | 'newId' | 'publish'>,
  purpose: ScanPurpose,
  trigger: Trigger = 'command',
  runId = newId(),
): AnnouncedRun {
  const [startedAtMs, beganMs] = [clock.nowMs(), clock.monotonicMs()];
  let hasBegun = false;

  function begin(): void {
    if (hasBegun) return;
    hasBegun = true;
    publish({ kind: 'scan_started', runId, purpose, trigger, atMs: startedAtMs });
  }

  function fail(error: unknown): unknown {
    begin();
    publish({ kind: 'scan_failed', runId, purpose, error: describeError(error), atMs: clock.nowMs() });
    return error;
  }

  const times = () => ({ startedAtMs, durationMs: clock.monotonicMs() - beganMs });

  function end(reached: Pick<Session, 'containers' | 'engines'>): Session {
    begin();
    const session: Session = { runId, trigger, ...times(), ...reached };
    const wentBack = reached.containers.filter(({ outcome }) => outcome === 'went_back').length;
    const counts = { ...summarise(session), ...(wentBack > 0 && { wentBack }) };
    publish({ kind: 'scan_completed', runId, purpose, ...counts, session, atMs: clock.nowMs() });
    return session;
  }

  function endCheck(containers: readonly { readonly error?: unknown }[]): void {
    const failed = containers.filter(({ error }) => error !== undefined).length;
    const counts = { scanned: containers.length, updated: 0, failed, restarted: 0, skipped: 0 };
    publish({ kind: 'scan_completed', runId, purpose, ...counts, session: undefined, atMs: clock.nowMs() });
  }

  return { runId, trigger, begin, fail, end, endCheck, times };
}
