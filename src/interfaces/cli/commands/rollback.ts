import { type CommandContext, exitCodes } from '../context/context.ts';
import { codesOfSession, worstCode } from '../context/exit-code.ts';
import { withProgress } from '../render/progress.ts';
import { recoverFirst } from './recover-first.ts';
import { showSession } from '../render/show-session.ts';

/** `upkeep rollback NAME…`: returns to the image before the last update, and shows the progress. */
export async function rollback(context: CommandContext): Promise<number> {
  const { containers } = context.settings.request;
  const repaired = await recoverFirst(context);
  const { application, settings, signal } = context;
  const { engines } = settings.request;
  const session = await withProgress(context, () => application.rollBack(containers, signal, { engines }));
  await showSession(context, session);
  // A run may leave a container as it is; a person who names one expects the earlier version.
  const isLeft = session.containers.some(({ outcome }) => outcome === 'skipped' || outcome === 'deferred');
  return worstCode([...repaired, ...codesOfSession(session), isLeft ? exitCodes.incomplete : exitCodes.done]);
}
