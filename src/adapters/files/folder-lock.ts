import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { createConnection, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** `taken`: another process has the folder. `impossible`: it cannot be known who has it, such as on a file system without sockets. */
export type FolderLock =
  | { readonly kind: 'held'; readonly release: () => Promise<void> }
  | { readonly kind: 'taken' }
  | { readonly kind: 'impossible'; readonly reason: string };

/**
 * Gives a folder to one process at a time, until its release or its end. Each process first listens on a socket of
 * its own in the folder, `lock-ID.sock`, then looks for others: of two, the later one finds the earlier, and leaves.
 * The kernel closes a socket with its process, whatever ends it, and processes in other containers see that too;
 * a process id would mean nothing to them. Never throws.
 */
export async function lockFolder(folder: string, mostTries = usualTries): Promise<FolderLock> {
  try {
    for (let tries = 1; ; tries += 1) {
      const release = await tryToLock(folder);
      if (release !== undefined) return { kind: 'held', release };
      if (tries === mostTries) return { kind: 'taken' };
      // Two that came at the same moment have both left.
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
  const own = `lock-${randomBytes(8).toString('hex')}.sock`;
  let server: Server | undefined;
  const release = async () => {
    // It removes its socket from the folder.
    await new Promise((resolve) => (server === undefined ? resolve(0) : server.close(resolve)));
    await place.close();
  };
  try {
    server = await listen(place.pathOf(own));
    const isFree = await removeTheDead(folder, place, own);
    if (isFree) return release;
  } catch (error) {
    await release();
    throw error;
  }
  await release();
  return undefined;
}

/** Whether nobody else is there. Each name is used by one process only, so that what is dead stays so. */
async function removeTheDead(folder: string, place: Place, own: string): Promise<boolean> {
  for (const name of await readdir(folder)) {
    if (name === own || !/^lock-[0-9a-f]{16}\.sock$/.test(name)) continue;
    if (!(await isDead(place.pathOf(name)))) return false;
    await rm(join(folder, name), { force: true });
  }
  return true;
}

type Place = { readonly pathOf: (name: string) => string; readonly close: () => Promise<void> };

/** Linux has a short path for each open folder, and room for 107 bytes in the address of a socket: https://man7.org/linux/man-pages/man7/unix.7.html */
async function openPlace(folder: string): Promise<Place> {
  if (Buffer.byteLength(folder) <= 70) return { pathOf: (name) => join(folder, name), close: () => Promise.resolve() };
  const handle = await open(folder, 'r');
  return { pathOf: (name) => `/proc/self/fd/${handle.fd}/${name}`, close: () => handle.close() };
}

function listen(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', reject);
    server.listen(path, () => {
      // A connection that cannot be accepted has found out what it wanted to know.
      server.off('error', reject).on('error', () => undefined);
      resolve(server.unref());
    });
  });
}

/** Only a refusal says so: a socket that may not be asked belongs to somebody. */
function isDead(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    const answer = (dead: boolean) => {
      socket.destroy();
      resolve(dead);
    };
    socket.once('connect', () => answer(false));
    socket.once('error', (error) =>
      answer('code' in error && (error.code === 'ECONNREFUSED' || error.code === 'ENOENT')),
    );
  });
}
