import { constants, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Log } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';
import { lockFolder, withDeadline } from './folder-lock.ts';
import { giveToOwner } from './line-file.ts';

/** The folder of `--state-dir`, while this process owns it. */
type StateFolder = { readonly path: string; readonly close: () => Promise<void> };

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

/**
 * An id that lasts as long as the folder. It is made at the first call. Undefined if it can neither be read nor
 * stored, or if the disk does not answer in time.
 */
export function stateIdOf(path: string, newId: () => string, deadlineMs = 10_000): Promise<string | undefined> {
  return withDeadline(findStateId(join(path, 'id'), newId), deadlineMs, undefined);
}

async function findStateId(file: string, newId: () => string): Promise<string | undefined> {
  const known = await readStateId(file);
  if (known !== undefined) return known;
  // Two processes that start at once agree on one of them. A file without an id is not overwritten.
  const made = newId().replaceAll('-', '').slice(0, 12);
  await storeStateId(file, `${made}\n`).catch(() => undefined);
  return readStateId(file);
}

async function storeStateId(file: string, text: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await giveToOwner(handle, dirname(file));
    await handle.writeFile(text);
  } finally {
    await handle.close();
  }
}

async function readStateId(file: string): Promise<string | undefined> {
  try {
    const opened = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const { buffer, bytesRead } = await opened.read(Buffer.alloc(100), 0, 100, 0);
      return /^[\da-f]{12,64}$/.exec(buffer.toString('utf8', 0, bytesRead).trim())?.[0];
    } finally {
      await opened.close();
    }
  } catch {
    return undefined;
  }
}

/**
 * Warns of a state folder or a journal key that users other than its owner may write or read. In a container,
 * a folder with the sticky bit is like the image's `/data`: nobody else is there, and any user may run the service.
 */
export function warnOfOthers(
  { folder, keyFile }: { readonly folder: string | undefined; readonly keyFile: string | undefined },
  isInContainer: boolean,
  log: Pick<Log, 'warn'>,
): void {
  const key = keyFile ?? (folder === undefined ? undefined : join(folder, 'journal.key'));
  const mode = folder === undefined ? 0 : modeOf(folder);
  const isShared = (mode & stickyBit) !== 0 && isInContainer;
  if (folder !== undefined && !isShared && (mode & forOthers) !== 0) {
    const may = (mode & writeForOthers) !== 0 ? 'write to' : 'read';
    const which = `the folder ${quoted(folder, 300)} of --state-dir`;
    log.warn(`Other users may ${may} ${which}, which holds decisions and the journal key: chmod 700 it`, shown(mode));
  }
  const keyMode = key === undefined || key.startsWith('/run/secrets/') ? 0 : modeOf(key);
  if (key !== undefined && (keyMode & forOthers) !== 0) {
    const may = (keyMode & writeForOthers) !== 0 ? 'write to' : 'read';
    const which = `the journal key ${quoted(key, 300)}`;
    log.warn(`Other users may ${may} ${which}, and so seal the journal of an update: chmod 600 it`, shown(keyMode));
  }
}

const stickyBit = 0o1000;
const forOthers = 0o077;
const writeForOthers = 0o022;

/** A file that cannot be read is reported where it is used. */
function modeOf(path: string): number {
  try {
    return statSync(path).mode;
  } catch {
    return 0;
  }
}

function shown(mode: number): { readonly mode: string } {
  return { mode: (mode & 0o7777).toString(8) };
}
