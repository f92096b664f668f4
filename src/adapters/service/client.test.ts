import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import type { RunningService } from '../../domain/run/event.ts';
import type { JsonObject } from '../../domain/text/json.ts';
import type { Clock } from '../../domain/outside/outside.ts';
import { createSystemClock } from '../process/clock.ts';
import { createServiceClient } from './client.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const never = new AbortController().signal;
const ours = (body: object) => JSON.stringify({ ...body, api_version: 'v1' });

describe('read()', () => {
  test('asks the path below the address with the token, and gives the document as it is', async () => {
    let asked: unknown;
    const { service } = await serve(({ url, headers }, response) => {
      asked = [url, headers.authorization];
      response.end(ours({ entries: [], more: 1 }));
    });
    expect(await service.read('history', never)).toEqual({ entries: [], more: 1, api_version: 'v1' });
    expect(asked).toEqual(['/base/v1/history', 'Bearer secret']);
  });

  test.each([
    ['401', 401, ours({ error: 'unauthorized' }), 'service-denied', 'the token is missing or wrong', /--token/],
    ['401 of a proxy', 401, '<html>', 'service-denied', 'the token is missing or wrong', /--token/],
    [
      '404',
      404,
      ours({ error: 'not found' }),
      'not-found',
      'it does not serve that',
      /history to --http-api-endpoints/,
    ],
    [
      '404 of something that it looked for',
      404,
      ours({ error: 'no newer version of this container is known' }),
      'not-found',
      'Cannot read /v1/history of the service at',
      undefined,
    ],
    ['404 of another', 404, '<html>', 'service-invalid', '/v1/history answers with status 404', /Check the address/],
    ['429', 429, '', 'busy', 'too many requests; try again in 30s', undefined],
    [
      '503',
      503,
      ours({ error: 'not listed\u001b[2J yet' }),
      'service-unreachable',
      String.raw`not listed\x1b[2J yet`,
      undefined,
    ],
    ['500', 500, ours({ error: 'internal error' }), 'service-refused', 'status 500, internal error', undefined],
    ['a redirect', 302, '', 'service-invalid', 'answers with status 302', /Check the address/],
    ['a page', 200, '<html>', 'service-invalid', 'holds no document of its API', /Check the address/],
    ['a list', 200, '[]', 'service-invalid', 'holds no document of its API', /Check the address/],
    [
      'the JSON of another',
      200,
      '{"entries":[]}',
      'service-invalid',
      'holds no document of its API',
      /Check the address/,
    ],
  ])('says of %s what it is and what to do', async (_, status, body, code, why, remedy) => {
    const { service } = await serve(
      (_request, response) => {
        response.writeHead(status, { 'Retry-After': '30', Location: 'http://elsewhere/' }).end(body);
      },
      { waitMs: 20_000 },
    );
    const failure: unknown = await service.read('history', never).catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: 'ServiceError', code, message: expect.stringContaining(why) });
    if (remedy !== undefined) expect(failure).toMatchObject({ remedy: expect.stringMatching(remedy) });
  });

  test.each(['notes?container=web', 'containers/details'] as const)('names the group that serves %s', async (what) => {
    const { service } = await serve((_request, response) => {
      response.writeHead(404).end(ours({ error: 'not found' }));
    });
    const remedy = 'Add containers to --http-api-endpoints of the service and start it again';
    await expect(service.read(what, never)).rejects.toMatchObject({ code: 'not-found', remedy });
  });

  test('of an answer that is cut short, stays away or is no HTTP it says so', async () => {
    const cut = await serve((_request, response) => {
      response.writeHead(200, { 'Content-Length': '100' }).write('{', () => response.destroy());
    });
    await expect(cut.service.read('config', never)).rejects.toMatchObject({ code: 'service-unreachable' });
    const silent = await serve(() => undefined);
    await expect(silent.service.read('config', never)).rejects.toThrow(/did not answer in time/);
    const dripping = await serve((_request, response) => void response.writeHead(200).write(' '));
    await expect(dripping.service.read('config', never)).rejects.toThrow(/did not answer in time/);
    const strange = await serve((_request, response) => void response.socket?.end('SSH-2.0-x\r\n'));
    await expect(strange.service.read('config', never)).rejects.toThrow(/its answer is not HTTP/);
    const switching = await serve((_request, response) => {
      response.socket?.end('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    });
    await expect(switching.service.read('config', never)).rejects.toThrow(/answers with status 101/);
    const gone = await serve(() => undefined);
    servers.pop()?.close();
    await expect(gone.service.read('config', never)).rejects.toThrow(/the connection was refused/);
  });

  test('an answer without end is refused before it fills the memory', async () => {
    const megabyte = Buffer.alloc(1024 * 1024, ' ');
    const { service } = await serve(
      (_request, response) => {
        const more = () => {
          while (!response.destroyed && response.write(megabyte));
        };
        response.on('drain', more).writeHead(200);
        more();
      },
      { waitMs: 20_000 },
    );
    await expect(service.read('config', never)).rejects.toThrow(/larger than 67108864 bytes/);
  });

  test('ends with the reason of the signal', async () => {
    const stop = new AbortController();
    const { service } = await serve(() => stop.abort(new Error('stopped')));
    await expect(service.read('config', stop.signal)).rejects.toThrow('stopped');
  });
});

describe('follow()', () => {
  test('goes on after the last event that it has when the connection is lost', async () => {
    const resumed: unknown[] = [];
    const { service } = await serve(({ headers }, response) => {
      resumed.push(headers['last-event-id']);
      const first = resumed.length * 2 - 1;
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(`retry: 100\n\n${frame(first)}${frame(first + 1)}id: e-9\ndata: {"cut`);
      setImmediate(() => response.destroy());
    });
    expect(await take(service, 5)).toEqual([1, 2, 3, 4, 5]);
    expect(resumed).toEqual([undefined, 'e-2', 'e-4']);
  });

  test('what may pass is waited for, as long as it is asked to, once it has been there', async () => {
    const clock = createFakeClock();
    const answers = [200, 503, 429, 200];
    const { service, warnings } = await serve(
      (_request, response) => {
        const status = answers.shift() ?? 500;
        response.writeHead(status, { 'Content-Type': 'text/event-stream', 'Retry-After': '30' });
        response.end(status === 200 ? frame(answers.length) : '');
      },
      { waitMs: 5000, patienceMs: 120_000, clock },
    );
    const taken = take(service, 2);
    while (answers.length > 0) {
      await new Promise((resolve) => setImmediate(resolve));
      if (clock.sleepers() > 0) await clock.advance(30_000);
    }
    expect(await taken).toEqual([3, 0]);
    expect(warnings).toHaveLength(3);
  });

  test.each([401, 404, 503])('a first connection that is answered with %i is told at once', async (status) => {
    const { service, warnings } = await serve((_request, response) => {
      response.writeHead(status).end(ours({ error: 'no' }));
    });
    await expect(take(service, 1)).rejects.toThrow(/Cannot read \/v1\/events/);
    expect(warnings).toEqual([]);
  });

  test('a service that does not let us in again, or stays away, is not waited for without end', async () => {
    let count = 0;
    const denied = await serve((_request, response) => {
      count += 1;
      response.writeHead(count === 1 ? 200 : 401, { 'Content-Type': 'text/event-stream' });
      response.end(`retry: 100\n\n${frame(1)}`);
    });
    await expect(take(denied.service, 2)).rejects.toMatchObject({ code: 'service-denied' });
    const away = await serve((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(`retry: 100\n\n${frame(1)}`);
      servers.at(-1)?.close();
    });
    await expect(take(away.service, 2)).rejects.toMatchObject({ code: 'service-unreachable' });
  });

  test.each([
    ['text/html', frame(1), /no stream of events/],
    ['text/event-stream', 'data: [1]\n\n', /invalid data/],
    ['text/event-stream', 'data: {\n\n', /invalid data/],
  ])('%s %j is no Upkeep', async (type, body, why) => {
    const { service } = await serve((_request, response) => {
      response.writeHead(200, { 'Content-Type': type }).end(body);
    });
    await expect(take(service, 1)).rejects.toThrow(why);
  });

  test('a stream that falls silent is connected anew', async () => {
    let count = 0;
    const { service } = await serve((_request, response) => {
      count += 1;
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(`retry: 100\n\n${frame(count)}`);
    });
    expect(await take(service, 2)).toEqual([1, 2]);
  });
});

function frame(number: number): string {
  return `id: e-${number}\nevent: x\ndata: {"type":"x","data":{"n":${number}}}\n\n`;
}

async function take(service: RunningService, count: number): Promise<unknown[]> {
  const stop = new AbortController();
  const numbers: unknown[] = [];
  for await (const event of service.follow(stop.signal)) {
    numbers.push((event['data'] as JsonObject)['n']);
    if (numbers.length === count) break;
  }
  stop.abort();
  return numbers;
}

type Waits = { readonly waitMs: number; readonly patienceMs: number; readonly clock: Clock };

/** Counts the warnings; waits are short. */
async function serve(
  listener: RequestListener,
  { waitMs = 300, patienceMs = 300, clock = createSystemClock() }: Partial<Waits> = {},
) {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const warnings: string[] = [];
  const log = { debug: () => {}, info: () => {}, warn: (line: string) => void warnings.push(line), error: () => {} };
  const service = createServiceClient({
    url: `http://127.0.0.1:${port}/base`,
    token: 'secret',
    clock,
    log,
    limits: { replyMs: waitMs, silenceMs: waitMs, patienceMs },
  });
  return { service, warnings };
}
