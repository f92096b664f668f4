import { ServiceError } from '../../../domain/errors.ts';
import type { CommandContext } from '../context.ts';
import { exitCodeOfSession } from '../exit-code-of-session.ts';
import { tellProgress } from '../progress.ts';
import { recoverFirst } from '../recover-first.ts';
import { showSession } from '../show-session.ts';

/** `upkeep rollback NAME…`: back to the image from before the last update, watched. */
export async function rollback(context: CommandContext): Promise<number> {
  const { application, settings, signal } = context;
  const { containers } = settings.request;
  if (containers.length === 0)
    throw new ServiceError('invalid-input', 'Cannot roll back: no container is named', {
      remedy: 'name those that are to go back: upkeep rollback web',
    });
  await recoverFirst(context);
  const stopTelling = tellProgress(context);
  try {
    const session = await application.rollBack(containers, signal);
    stopTelling();
    showSession(context, session);
    return exitCodeOfSession(session);
  } finally {
    stopTelling();
  }
}
