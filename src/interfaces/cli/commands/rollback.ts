import { exitCodes, codesOfSession, worstCode, type CommandContext } from '../context/context.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import { withProgress } from '../render/events.ts';
import { recoverFirst } from './recover-first.ts';
import { showSession } from '../render/print.ts';

/** `upkeep rollback NAME…`: returns to the image before the last update, and shows the progress. */
export async function rollback(context: CommandContext): Promise<number> {
  const { containers } = context.settings.request;
  const repaired = await recoverFirst(context);
  const { application, settings, signal } = context;
  const { engines, yes, rollbackData } = settings.request;
  const data = rollbackData === undefined ? {} : { data: rollbackData };
  const rollBack = (forward: boolean) =>
    withProgress(context, () => application.rollBack(containers, signal, { engines, forward, ...data }));
  const session = await rollBack(yes).catch(async (error: unknown) => {
    const isAsked = error instanceof ServiceError && error.code === 'unconfirmed' && context.confirm !== undefined;
    if (!isAsked || !(await context.confirm?.(`${error.message.replace(/^Cannot/, 'You asked to')}. Go forward?`)))
      throw error;
    return rollBack(true);
  });
  await showSession(context, session);
  // A run may leave a container as it is; a person who names one expects the earlier version.
  const isLeft = session.containers.some(({ outcome }) => outcome === 'skipped' || outcome === 'deferred');
  return worstCode([...repaired, ...codesOfSession(session), isLeft ? exitCodes.incomplete : exitCodes.done]);
}
