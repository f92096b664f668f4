import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { createConnection, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../../domain/text/error-code.ts';

/**
 * `taken`: another process has the folder. `impossible`: the owner cannot be found out, for example on a file system
 * without sockets.
 */
export type FolderLock =
  | { readonly kind: 'held'; readonly release: () => Promise<void> }
  | { readonly kind: 'taken' }
  | { readonly kind: 'impossible'; readonly reason: string };

/**
 * Gives a folder to one process at a time, until its release or the end of the process. Each process first listens on
 * its own socket in the folder, `lock-ID.sock`, then looks for others: the later of two finds the earlier, and gives
 * up. The kernel closes a socket with its process, and processes in other containers see that too; a process id would
 * mean nothing to them. A socket is called `new-ID.sock` until it listens, because before that it looks like the socket
 * of a dead process. Never throws.
 */
export async function lockFolder(folder: string, mostTries = usualTries): Promise<FolderLock> {
  try {
    for (let tries = 1; ; tries += 1) {
      const release = await tryToLock(folder);
      if (release !== undefined) return { kind: 'held', release };
      if (tries === mostTries) return { kind: 'taken' };
      // Two processes that began at the same moment have both given up.
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
    await rm(join(folder, own), { force: true });
    await new Promise((resolve) => (server === undefined ? resolve(0) : server.close(resolve)));
    await place.close();
  };
  try {
    server = await listen(place.pathOf(`new-${id}.sock`));
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

/** False: another process took the socket for that of a dead process and removed it, before it listened. */
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
 * Removes sockets of dead processes. Resolves to whether no other process holds the folder. Each name is used by one
 * process only, so a dead lock stays dead.
 */
async function removeStaleSockets(folder: string, place: SocketPaths, own: string): Promise<boolean> {
  for (const name of await readdir(folder)) {
    if (name === own || !/^(lock|new)-[0-9a-f]{16}\.sock$/.test(name)) continue;
    const isDead = await refusesConnection(place.pathOf(name));
    if (isDead) await rm(join(folder, name), { force: true });
    // A process with a new socket looks for locks later, and finds this one.
    else if (name.startsWith('lock')) return false;
  }
  return true;
}

type SocketPaths = { readonly pathOf: (name: string) => string; readonly close: () => Promise<void> };

/**
 * Linux has a short path for each open folder. The address of a socket has room for 107 bytes:
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

/** Only a refused connection shows it. A socket without permission belongs to a living process. */
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
