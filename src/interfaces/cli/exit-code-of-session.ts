import type { Session } from '../../domain/session.ts';
import { exitCodes } from './context.ts';

/** 1 when a container is not what it should be by now. */
export function exitCodeOfSession({ containers }: Session): number {
  const failed = containers.some(({ outcome }) => outcome === 'failed' || outcome === 'rolled_back');
  return failed ? exitCodes.failed : exitCodes.done;
}
