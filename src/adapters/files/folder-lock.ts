import { randomBytes } from 'node:crypto';
import { lchown, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { createConnection, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../../domain/text/errors.ts';
import { giveToOwner } from './line-file.ts';

/**
 * `taken`: another process owns the folder. `impossible`: the owner cannot be determined, for example on a file system
 * without sockets.
 */
export type FolderLock =
  | { readonly kind: 'held'; readonly release: () => Promise<void> }
  | { readonly kind: 'taken' }
  | { readonly kind: 'impossible'; readonly reason: string };

/**
 * Locks a folder for one process at a time, until its release or the end of the process. Each process first listens on
 * its own socket in the folder, `lock-ID.sock`, then looks for others: the later of two processes finds the earlier and
 * gives up. The kernel closes a socket with its process. Processes in other containers see that, but not a process id.
 * A socket is called `new-ID.sock` until it listens, because before that it looks like the socket of a dead process.
 * Never throws.
 */
export async function lockFolder(folder: string, maxTries = usualTries): Promise<FolderLock> {
  try {
    for (let tries = 1; ; tries += 1) {
      const release = await tryToLock(folder);
      if (release !== undefined) return { kind: 'held', release };
      if (tries === maxTries) return { kind: 'taken' };
      // Two processes that start at the same moment may both give up.
      await sleep(20 + Math.random() * 80);
    }
  } catch (error) {
    return { kind: 'impossible', reason: error instanceof Error ? error.message : String(error) };
  }
}

const usualTries = 5;

type Release = () => Promise<void>;

async function tryToLock(folder: string): Promise<Release | undefined> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const place = await openPlace(folder);
  const id = randomBytes(8).toString('hex');
  const own = `lock-${id}.sock`;
  let server: Server | undefined;
  const release = async () => {
    // A socket that cannot be removed counts as one of a dead process.
    await rm(join(folder, own), { force: true }).catch(() => undefined);
    await new Promise((resolve) => (server === undefined ? resolve(0) : server.close(resolve)));
    await place.close();
  };
  try {
    server = await listen(place.pathOf(`new-${id}.sock`));
    await giveSocketToOwner(join(folder, `new-${id}.sock`), folder);
    const isFree =
      (await renameIfThere(folder, `new-${id}.sock`, own)) && (await removeStaleSockets(folder, place, own));
    if (isFree) return release;
  } catch (error) {
    await release();
    throw error;
  }
  await release();
  return undefined;
}

/**
 * A service without root's rights must find out whether a socket of root in its folder is that of a dead process. The
 * owner of the folder may have put a link in its place, which must not lead root to another file.
 */
function giveSocketToOwner(socket: string, folder: string): Promise<void> {
  return giveToOwner({ chown: (uid, gid) => lchown(socket, uid, gid) }, folder);
}

/** False: another process removed the socket before it listened, as a socket of a dead process. */
async function renameIfThere(folder: string, from: string, to: string): Promise<boolean> {
  try {
    await rename(join(folder, from), join(folder, to));
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/**
 * Removes sockets of dead processes. Resolves to true if no other process holds the folder. Only one process uses a
 * name, so a dead lock stays dead.
 */
async function removeStaleSockets(folder: string, place: SocketPaths, own: string): Promise<boolean> {
  for (const name of await readdir(folder)) {
    if (name === own || !/^(lock|new)-[0-9a-f]{16}\.sock$/.test(name)) continue;
    const isDead = await refusesConnection(place.pathOf(name));
    if (isDead) await rm(join(folder, name), { force: true });
    // A process with a new socket looks for locks later and finds this one.
    else if (name.startsWith('lock')) return false;
  }
  return true;
}

type SocketPaths = { readonly pathOf: (name: string) => string; readonly close: () => Promise<void> };

/**
 * A socket's path has at most 107 bytes, so a long path uses Linux's short path of the open folder:
 * https://man7.org/linux/man-pages/man7/unix.7.html
 */
async function openPlace(folder: string): Promise<SocketPaths> {
  if (Buffer.byteLength(folder) <= 70) return { pathOf: (name) => join(folder, name), close: () => Promise.resolve() };
  const handle = await open(folder, 'r');
  return { pathOf: (name) => `/proc/self/fd/${handle.fd}/${name}`, close: () => handle.close() };
}

function listen(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', reject);
    server.listen(path, () => {
      // A caller only tests whether it can connect, so failures of accepted connections do not matter.
      server.off('error', reject).on('error', () => undefined);
      resolve(server.unref());
    });
  });
}

/** True for a socket of a dead process. A socket without permission counts as alive. */
function refusesConnection(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    const answer = (dead: boolean) => {
      socket.destroy();
      resolve(dead);
    };
    socket.once('connect', () => answer(false));
    socket.once('error', (error) => answer(codeOf(error) === 'ECONNREFUSED' || codeOf(error) === 'ENOENT'));
  });
}

/** Runs functions in order, one at a time. A failure does not stop the next function. */
export function createQueue(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
}

/**
 * Returns `late` after the deadline, because a network file system may never answer. The work itself continues.
 * `Infinity`: the caller has its own deadline.
 */
export async function withDeadline<Result, Late = Result>(
  work: Promise<Result>,
  deadlineMs: number,
  late: Late,
): Promise<Result | Late> {
  if (deadlineMs === Infinity) return await work;
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<Late>((resolve) => {
    timer = setTimeout(() => resolve(late), deadlineMs);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
