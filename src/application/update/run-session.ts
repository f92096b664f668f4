import { describeError } from '../../domain/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { type ContainerOutcome, type Session, summarise, type Trigger } from '../../domain/run/session.ts';

/** Runs an operation as a session: publishes its begin, its times and its end, also when it throws. */
export async function runSession(
  { publish, clock, newId }: Pick<Outside, 'publish' | 'clock' | 'newId'>,
  trigger: Trigger,
  work: (runId: string) => Promise<readonly ContainerOutcome[]>,
  runId = newId(),
): Promise<Session> {
  const purpose = 'update';
  const [startedAtMs, beganMs] = [clock.nowMs(), clock.monotonicMs()];
  publish({ kind: 'scan_started', runId, purpose, trigger, atMs: startedAtMs });
  try {
    const containers = await work(runId);
    const session: Session = { runId, trigger, startedAtMs, durationMs: clock.monotonicMs() - beganMs, containers };
    publish({ kind: 'scan_completed', runId, purpose, ...summarise(session), session, atMs: clock.nowMs() });
    return session;
  } catch (error) {
    publish({ kind: 'scan_failed', runId, purpose, error: describeError(error), atMs: clock.nowMs() });
    throw error;
  }
}
