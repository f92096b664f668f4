import { ServiceError } from '../../../domain/errors.ts';
import type { Session } from '../../../domain/run/session.ts';
import type { CommandContext } from '../context/context.ts';
import { codesOfSession, gravest } from '../context/exit-code.ts';
import { tellProgress } from '../render/progress.ts';
import { recoverFirst } from './recover-first.ts';
import { showSession } from '../render/show-session.ts';

/** `upkeep rollback NAME…`: returns to the image before the last update, and shows the progress. */
export async function rollback(context: CommandContext): Promise<number> {
  const { containers } = context.settings.request;
  if (containers.length === 0)
    throw new ServiceError('invalid-input', 'Cannot roll back: no container is named', {
      remedy: 'name those that are to go back: upkeep rollback web',
    });
  const repaired = await recoverFirst(context);
  const session = await watchedRollback(context, containers);
  await showSession(context, session);
  return gravest([...repaired, ...codesOfSession(session)]);
}

async function watchedRollback(context: CommandContext, containers: readonly string[]): Promise<Session> {
  const stopTelling = await tellProgress(context);
  try {
    return await context.application.rollBack(containers, context.signal, {
      engines: context.settings.request.engines,
    });
  } finally {
    stopTelling();
  }
}
