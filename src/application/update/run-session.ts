import type { Outside } from '../../domain/outside/outside.ts';
import type { ContainerOutcome, Origin, Session } from '../../domain/run/session.ts';
import { announceRun } from '../events/event-log.ts';

/** Runs an operation as a session: publishes its begin, its times and its end, also when it throws. */
export async function runSession(
  outside: Pick<Outside, 'publish' | 'clock' | 'newId'>,
  origin: Origin,
  work: (runId: string) => Promise<readonly ContainerOutcome[]>,
  runId?: string,
): Promise<Session> {
  const run = announceRun(outside, 'update', origin, runId);
  run.begin();
  try {
    return run.end({ containers: await work(run.runId) });
  } catch (error) {
    throw run.fail(error);
  }
}
