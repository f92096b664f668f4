// A server for test/bench/http.bench.ts, in its own process so that it does not share a thread with the client. `ours N`
// is the HTTP interface (bundled) with N containers. `bare` answers with the reply in the first line of standard input.
// Prints its port, then for each further input line its CPU time in microseconds and its resident memory in bytes. The
// line `announce` also announces an event.
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const [, , kind, count] = process.argv;
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
/** Announces an event to the clients of `ours`. */
let onEvent = () => {};
const server = kind === 'ours' ? await ours(Number(count)) : bare(JSON.parse((await lines.next()).value));
server.listen(0, '127.0.0.1', () => console.log(server.address().port));

for await (const line of { [Symbol.asyncIterator]: () => lines }) {
  if (line === 'announce') announce();
  globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  console.log(`${user + system} ${process.memoryUsage().rss}`);
}
process.exit();

function bare({ headers, body }) {
  const bytes = Buffer.from(body);
  return createServer((_, response) => {
    response.writeHead(200, headers);
    response.end(bytes);
  });
}

async function ours(containers) {
  const { createHttpServer } = await import('../../../src/interfaces/http/server/server.ts');
  const { createSystemClock } = await import('../../../src/adapters/process/clock.ts');
  const { createEventLog } = await import('../../../src/application/events/history.ts');
  const { createLog } = await import('../../../src/adapters/process/log.ts');
  const clock = createSystemClock();
  const log = createLog({
    format: 'json',
    level: 'info',
    colour: false,
    stream: { write: () => true },
    nowMs: clock.nowMs,
  });
  const id = (text) => `sha256:${text.padStart(64, '0')}`;
  const inventory = {
    revision: 1,
    known: true,
    updatesAvailable: 0,
    images: [],
    containers: Array.from({ length: containers }, (_, index) => ({
      name: `container-${index}`,
      image: `ghcr.io/acme/service-${index}:1.2.3`,
      imageId: id(`a${index}`),
      digest: id(`b${index}`),
    })),
  };
  const eventLog = createEventLog(log);
  onEvent = eventLog.onEvent;
  const none = () => Promise.reject(new Error('not here'));
  const { server: made } = createHttpServer({
    settings: {
      groups: ['health', 'containers', 'events'],
      token: { kind: 'value', value: 'api-token' },
      eventsToken: { kind: 'value', value: 'events-token' },
      rateLimit: 1_000_000,
      sessionRateLimit: 600,
      basePath: '',
      checkTimeoutMs: 1000,
      updateTimeoutMs: 1000,
      trustedProxies: [],
      proxyHeader: 'X-Forwarded-For',
      corsOrigins: [],
      watchtowerCompat: false,
    },
    service: {
      check: none,
      update: none,
      ready: none,
      inventory: () => inventory,
      inventoryFailure: () => undefined,
      history: () => [],
      status: () => ({ running: false, updatesAvailable: 0 }),
      eventLog,
    },
    clock,
    log,
    version: '0',
    configuration: { config: {}, options: [] },
    runOptions: {},
    metrics: () => Promise.resolve(''),
    assetsFolder: '.',
    limits: { maxStreams: 20_000 },
  });
  return made;
}

function announce() {
  const counts = { scanned: 1, updated: 0, failed: 0, restarted: 0, skipped: 0 };
  onEvent({
    kind: 'scan_completed',
    runId: 'run',
    purpose: 'check',
    ...counts,
    session: undefined,
    atMs: Date.now(),
  });
}
