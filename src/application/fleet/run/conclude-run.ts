import { describeError, isBusy } from '../../../domain/text/errors.ts';
import type { Outside } from '../../../domain/outside/outside.ts';
import type { Request, Session } from '../../../domain/run/session.ts';
import type { AnnouncedRun } from '../../events/event-log.ts';
import type { Answer } from './each-engine.ts';
import { failureOfAll, hasRun, outcomesOf, runsOf } from './merge.ts';

type Conclusion = {
  readonly run: AnnouncedRun;
  readonly request: Request;
  /** For an error: `update`. */
  readonly verb: string;
};

/**
 * Publishes the end of a run that changes containers. Throws `busy` if no engine ran and one was busy with another run.
 * If no engine ran for other reasons, it throws these.
 */
export function concludeRun(
  answers: readonly Answer<Session | undefined>[],
  { clock, publish }: Pick<Outside, 'clock' | 'publish'>,
  { run, request, verb }: Conclusion,
): Session {
  if (!hasRun(answers)) {
    const error = failureOfAll(answers, verb);
    if (!isBusy(error)) throw run.fail(error);
    publish({ kind: 'scan_skipped', trigger: run.trigger, reason: describeError(error), atMs: clock.nowMs() });
    throw error;
  }
  return run.end({
    containers: answers.flatMap((answer) => outcomesOf(answer, request)),
    engines: runsOf(answers.filter(({ run: { result }, result: of }) => result !== 'ran' || of !== undefined)),
  });
}
