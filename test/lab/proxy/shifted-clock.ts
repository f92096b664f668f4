import { rmSync } from 'node:fs';
import http from 'node:http';
import { pipeline, Transform } from 'node:stream';

export type ShiftedClock = { readonly close: () => Promise<void> };

export type ShiftedClockOptions = {
  readonly socketPath: string;
  /** The engine's socket. */
  readonly upstream: string;
  /** Time by which the engine's clock seems to be ahead. */
  readonly shiftMs: number;
};

/**
 * A proxy that makes the engine's clock seem wrong. It shifts the times of the engine's clock in answers, but not those in
 * images, and shifts times in requests back. A real engine on this machine always has this machine's clock.
 */
export async function createShiftedClock({
  socketPath,
  upstream,
  shiftMs,
}: ShiftedClockOptions): Promise<ShiftedClock> {
  const server = http.createServer((request, response) => {
    const path = withOwnTimes(request.url ?? '/', -shiftMs);
    const forwarded = http.request({ socketPath: upstream, method: request.method, path, headers: request.headers });
    forwarded.on('error', () => request.socket.destroy());
    response.on('close', () => forwarded.destroy());
    forwarded.on('response', (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      response.flushHeaders();
      pipeline(reply, shifting(path, shiftMs), response, () => undefined);
    });
    request.pipe(forwarded);
  });
  const sockets = new Set<{ destroy: () => void }>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  rmSync(socketPath, { force: true });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** `since` and `until` of a request for events. */
function withOwnTimes(path: string, ms: number): string {
  return path.replaceAll(
    /([?&](?:since|until)=)(\d+)/g,
    (_all, name: string, seconds: string) => `${name}${Number(seconds) + ms / 1000}`,
  );
}

/** Shifts the times in JSON answers. Every time, and so the answer, keeps its length. */
function shifting(path: string, ms: number): Transform {
  const rest: Buffer[] = [];
  const isStream = path.includes('/events');
  const isJson = isStream || /\/(?:json|info)(?:\?|$)/.test(path);
  const shift = (text: string) => shiftTimes(text, { ms, ofContainers: path.includes('/containers/') });
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (!isJson) return done(null, chunk);
      rest.push(chunk);
      const end = isStream ? Buffer.concat(rest).lastIndexOf('\n') + 1 : 0;
      if (end === 0) return done();
      const all = Buffer.concat(rest.splice(0));
      rest.push(all.subarray(end));
      done(null, shift(all.subarray(0, end).toString()));
    },
    flush(done) {
      done(null, shift(Buffer.concat(rest).toString()));
    },
  });
}

function shiftTimes(
  text: string,
  { ms, ofContainers }: { readonly ms: number; readonly ofContainers: boolean },
): string {
  const names = ofContainers ? 'StartedAt|FinishedAt|Start|End|Created' : 'SystemTime|StartedAt|FinishedAt';
  return text
    .replaceAll(
      new RegExp(String.raw`("(?:${names})":")(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d)`, 'g'),
      (_all, name: string, time: string) =>
        `${name}${new Date(Date.parse(`${time}Z`) + ms).toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)}`,
    )
    .replaceAll(
      /("(?:Created|time)":)(\d{10})\b/g,
      (_all, name: string, seconds: string) => `${name}${Number(seconds) + ms / 1000}`,
    )
    .replaceAll(
      /("timeNano":)(\d{19})\b/g,
      (_all, name: string, nanos: string) => `${name}${BigInt(nanos) + BigInt(ms) * 1_000_000n}`,
    );
}
