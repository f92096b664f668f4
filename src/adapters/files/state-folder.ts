import type { Log } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';
import { lockFolder } from './folder-lock.ts';
import { withDeadline } from './queue.ts';

/** The folder of `--state-dir`, while this process owns it. */
export type StateFolder = { readonly path: string; readonly close: () => Promise<void> };

/**
 * Undefined, with a log message, if another process uses the folder, or if its disk does not answer in time. Nothing is
 * stored then.
 */
export async function openStateFolder(
  path: string,
  log: Pick<Log, 'warn'>,
  deadlineMs = 10_000,
): Promise<StateFolder | undefined> {
  const locking = lockFolder(path);
  const lock = await withDeadline(locking, deadlineMs, { kind: 'late' } as const);
  const which = `the folder ${quoted(path, 300)} of --state-dir`;
  switch (lock.kind) {
    case 'held':
      return { path, close: lock.release };
    case 'taken':
      log.warn(
        `Nothing is kept in ${which}, because another Upkeep keeps its state there: stop that one, or name another folder`,
      );
      return undefined;
    case 'late':
      log.warn(`Nothing is kept in ${which}: its disk does not answer; check it, or name another folder`);
      void locking.then((late) => (late.kind === 'held' ? late.release() : undefined)).catch(() => undefined);
      return undefined;
    case 'impossible':
      log.warn(`Cannot lock ${which}: make sure that no other Upkeep uses it`, { error: lock.reason });
      return { path, close: () => Promise.resolve() };
  }
}
