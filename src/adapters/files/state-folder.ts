import type { Log } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';
import { lockFolder } from './folder-lock.ts';

/** The folder of `--state-dir`, while this process owns it. */
export type StateFolder = { readonly path: string; readonly close: () => Promise<void> };

/** Undefined, with a log message, if another process uses the folder. Nothing is stored then. */
export async function openStateFolder(path: string, log: Pick<Log, 'warn'>): Promise<StateFolder | undefined> {
  const lock = await lockFolder(path);
  const which = `the folder ${quoted(path, 300)} of --state-dir`;
  switch (lock.kind) {
    case 'held':
      return { path, close: lock.release };
    case 'taken':
      log.warn(
        `Nothing is kept in ${which}, because another Upkeep keeps its state there: stop that one, or name another folder`,
      );
      return undefined;
    case 'impossible':
      log.warn(`Cannot lock ${which}: make sure that no other Upkeep uses it`, { error: lock.reason });
      return { path, close: () => Promise.resolve() };
  }
}
