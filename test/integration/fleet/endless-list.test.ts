import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { four, startFiveEngines, type FiveEngines } from '../../support/scene/five-engines.ts';
import { serveFleet } from '../../support/scene/serve-fleet.ts';

type Checked = {
  readonly containers: readonly { readonly engine: string; readonly status: string; readonly name: string }[];
  readonly engines: readonly { readonly name: string; readonly result: string; readonly error?: string }[];
};

describeInLab('an engine whose list of containers does not end', (lab) => {
  let fleet: FiveEngines;
  beforeAll(async () => {
    fleet = await startFiveEngines(lab, 'endless-list/app');
  });
  afterAll(() => fleet.remove());

  /** The fifth engine behind a proxy that floods its list, once `floods.now` is set. */
  async function floodingEngine(list: string, entry: string) {
    const floods = { now: false };
    const server = http.createServer((request, response) => {
      if (floods.now && request.url?.includes(list)) return flood(response, entry);
      const { method = 'GET', url = '/', headers } = request;
      const passed = http.request({ socketPath: fleet.fifth.engine.socket, method, path: url, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      passed.on('error', () => response.destroy());
      request.pipe(passed);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return { floods, host: `five=tcp://127.0.0.1:${(server.address() as AddressInfo).port}` };
  }

  const container = `{"Id":"${'a'.repeat(64)}","Names":["/web"],"Labels":{"text":"${'x'.repeat(100_000)}"}},`;
  test.each([
    ['containers', '/containers/json', container, 'it has not answered for 30s'],
    [
      'containers with hardly any content',
      '/containers/json',
      `{"Id":"${'b'.repeat(64)}"},`,
      'more than 200,000 entries',
    ],
    ['tiny entries', '/containers/json', '1,', 'more than 200,000 entries'],
    ['tiny images', '/images/json', '{"Id":"sha256:1","Created":0,"Labels":null},', 'more than 200,000 entries'],
  ])('delays nobody: an endless list of %s', async (_, list, entry, told) => {
    const { floods, host } = await floodingEngine(list, entry);
    const upkeep = await serveFleet([...fleet.hosts(four), '--host', host]);
    await upkeep.lists(5);
    floods.now = true;
    const checking = upkeep.read<Checked>('/v1/check', 'POST');
    const ended = checking.then(
      () => true,
      () => true,
    );
    do expect((await upkeep.ask('/livez')).status).toBe(200);
    while (!(await Promise.race([ended, immediately()])));
    const { containers, engines } = await checking;
    const states = containers.map((one) => `${one.engine} ${one.name} ${one.status}`);
    expect(states.toSorted()).toEqual([...four.map((name) => `${name} web fresh`), 'five web unknown'].toSorted());
    const failed = engines.filter(({ error }) => error !== undefined);
    expect(failed).toMatchObject([{ name: 'five', error: expect.stringContaining(told) }]);

    await fleet.release();
    await upkeep.read('/v1/update', 'POST');
    floods.now = false;
    await expect.poll(() => upkeep.isReachable('five'), { timeout: 90_000, interval: 200 }).toBe(true);
  });
});

const immediately = () => new Promise<false>((resolve) => void setImmediate(() => resolve(false)));

/** The writer waits for the reader, so that the flood takes no memory here. */
function flood(response: http.ServerResponse, entry: string): void {
  const piece = Buffer.from(entry.repeat(Math.ceil(100_000 / entry.length)));
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write('[');
  const more = () => {
    while (!response.destroyed && response.write(piece));
  };
  response.on('drain', more);
  more();
}
