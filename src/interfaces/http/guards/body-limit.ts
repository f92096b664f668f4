import type { IncomingMessage } from 'node:http';

/** 1 MiB: nothing is done with a body, but a client may send one. */
export const bodyLimitBytes = 1_048_576;

/** Whether the request announces a body; without one there is nothing to wait for. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** Whether the body says itself that it is too large. */
export function announcesTooMuch({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) > bodyLimitBytes;
}

/**
 * Reads the body to its end and throws it away, then says whether it was within the limit; says so as
 * soon as it is not. Never calls back for a client that has gone.
 */
export function skipBody(request: IncomingMessage, callback: (outcome: 'ended' | 'too large') => void): void {
  let bytes = 0;
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > bodyLimitBytes) finish('too large');
  };
  const onEnd = (): void => finish('ended');
  function finish(outcome: 'ended' | 'too large'): void {
    request.off('data', onData);
    request.off('end', onEnd);
    callback(outcome);
  }
  request.on('data', onData);
  request.on('end', onEnd);
}

/**
 * Resolves when the rest of a body that was refused has come, or enough of it: closing a connection
 * at once would reset it, and the client might never read the reply.
 */
export function drainBriefly(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    const timer = setTimeout(resolve, longestDrainMs);
    const finish = (): void => {
      clearTimeout(timer);
      resolve();
    };
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > 16 * bodyLimitBytes) finish();
    });
    request.once('end', finish);
    request.once('close', finish);
  });
}

const longestDrainMs = 2000;
