import { stat } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Clock, Log } from '../../domain/outside/outside.ts';

export type MountedSockets = {
  /** Aborts when one of the sockets has died for good. */
  readonly signal: AbortSignal;
  readonly close: () => void;
};

/**
 * Watches the sockets of engines that are mounted into our container as single files. An engine that is upgraded, or
 * restarted with live-restore, makes its socket anew, and the mount still shows the removed file: nothing in this
 * container can reach the engine again. A restart of the container mounts the new one.
 */
export function watchMountedSockets(
  paths: readonly string[],
  { clock, log }: { readonly clock: Clock; readonly log: Pick<Log, 'error'> },
): MountedSockets {
  const closing = new AbortController();
  const lost = new AbortController();

  async function watch(): Promise<void> {
    for (;;) {
      await clock.sleep(lookMs, closing.signal);
      for (const path of paths) {
        if (!(await isDead(path))) continue;
        log.error(
          `The engine has made its socket anew, and the one that is mounted at ${path} is dead: Upkeep ends, so that the restart policy of its container mounts the new one`,
          { remedy: 'Mount the folder of the socket instead: docs/installing.md' },
        );
        return lost.abort();
      }
    }
  }

  void watch().catch(() => undefined);
  return { signal: lost.signal, close: () => closing.abort() };
}

/** A look costs one call of the kernel. */
const lookMs = 5_000;

/**
 * Whether the file has been removed and nobody listens at it any more. An engine whose file somebody has removed still
 * listens.
 */
async function isDead(path: string): Promise<boolean> {
  const links = await stat(path).then(
    ({ nlink }) => nlink,
    () => undefined,
  );
  return links === 0 && (await isRefused(path));
}

function isRefused(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (refused: boolean) => {
      socket.destroy();
      resolve(refused);
    };
    socket.once('connect', () => end(false));
    socket.once('error', (error) => end('code' in error && error.code === 'ECONNREFUSED'));
    socket.setTimeout(2_000, () => end(false));
  });
}
