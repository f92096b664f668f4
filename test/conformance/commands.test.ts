import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../src/adapters/process/clock.ts';
import { defaultSettings } from '../../src/domain/settings/effective-settings.ts';
import { createLocalSources } from '../../src/interfaces/cli/context/sources.ts';
import { apiToken, ask, eventsToken, startHttp } from '../support/http/http-scene.ts';
import { runUpkeep, startUpkeep, type UpkeepRun } from '../support/scene/run-upkeep.ts';
import { createScriptedService } from '../support/http/scripted-service.ts';
import { startWholeService, type WholeService } from '../support/http/whole-service.ts';

/** The commands that show the state of a running service, over real HTTP. */
const folder = mkdtempSync(join(tmpdir(), 'upkeep-commands-'));
const tokenFile = join(folder, 'token');
writeFileSync(tokenFile, `${apiToken}\n`);
let service: WholeService;

beforeAll(async () => {
  service = await startWholeService();
  for (const name of ['web', 'db']) {
    service.publish(`${name}:1`, '1.0');
    await service.run(name, `${name}:1`);
  }
  service.publish('web:1', '1.1');
  await service.application.update({ images: [], containers: [], trigger: 'schedule' });
});
afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true });
});

describe.each([
  ['containers', '/v1/containers/details', /^web +up to date +1 +running +web:1$/m],
  ['history', '/v1/history', /^\S+Z +1 +0 +2 +\S+ +schedule/m],
  ['config', '/v1/config', /^cleanup +true +--cleanup\n\nWatched: All containers$/m],
])('upkeep %s --url', (command, path, line) => {
  test('prints what the service knows as a table, with the token from a file', async () => {
    const { code, stdout, stderr } = await runUpkeep([command, '--url', service.url, '--token', tokenFile]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(line);
  });

  test('with --json prints the document of the API, with address and token from variables', async () => {
    const env = { UPKEEP_URL: `${service.url}/`, UPKEEP_TOKEN: apiToken };
    const { code, stdout, stderr } = await runUpkeep([command, '--json'], { env });
    expect([code, stderr]).toEqual([0, '']);
    const { timestamp, ...document } = (await service.ask(path)).json();
    expect(JSON.parse(stdout)).toEqual({ ...document, timestamp: expect.any(String) });
    expect(typeof timestamp).toBe('string');
  });

  test('says that the token is wrong, and shows none', async () => {
    const run = await runUpkeep([command, '--url', service.url, '--token', eventsToken]);
    expectFailure(run, /the token is missing or wrong\n {2}Give the API token/);
    expect(run.stderr).not.toContain(eventsToken);
  });
});

test('upkeep containers NAME shows these, and fails for one that is not watched', async () => {
  const flags = ['--url', service.url, '--token', apiToken];
  const { stdout } = await runUpkeep(['containers', 'db', '--json', ...flags]);
  expect(JSON.parse(stdout)).toMatchObject({ containers: [{ name: 'db' }], count: 1 });
  expectFailure(await runUpkeep(['containers', 'bd', ...flags]), /Cannot show "bd"/);
});

test('what is read from the engine itself is what the API of a service would show', async () => {
  const { containers } = (await service.ask('/v1/containers/details')).json();
  const local = createLocalSources({
    open: () =>
      Promise.resolve({
        application: { ...service.application, close: () => Promise.resolve() },
        close: () => Promise.resolve(),
      }),
    configuration: { config: { ...defaultSettings, filterDescription: '', scope: '' }, options: [] },
    clock: createSystemClock(),
  });
  const { document } = await local.containers(new AbortController().signal);
  expect(document).toMatchObject({ containers, count: 2, api_version: 'v1' });
  const { document: config } = await local.config(new AbortController().signal);
  const shown = (await service.ask('/v1/config')).json();
  expect(Object.keys(config)).toEqual(Object.keys(shown));
  expect(Object.keys(config['config'] as object)).toEqual(Object.keys(shown.config));
});

describe('upkeep events --url', () => {
  test('follows, catches up on what a lost connection missed, and ends with 130 by Ctrl-C', async () => {
    const events = startUpkeep(['events', '--url', service.url, '--token', eventsToken]);
    await untilStreams(service, 1);
    service.publish('db:1', '1.1');
    await service.application.update({ images: [], containers: ['db'], trigger: 'http' });
    await events.seen(' checked, 1 updated, 0 failed');
    service.http.server.closeAllConnections();
    await events.seen('The stream of events is interrupted');
    service.publish('db:1', '1.2');
    await service.application.update({ images: [], containers: ['db'], trigger: 'http' });
    await events.seen('The stream of events has resumed');
    await seenTimes(events.output, /db: updated/g, 2);
    events.child.kill('SIGINT');
    const { code, stdout } = await events.ended;
    await untilStreams(service, 0);
    expect(code).toBe(130);
    const said = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.slice('2026-01-01T00:00:00Z '.length));
    const once = [
      'Checking for updates',
      expect.stringMatching(/^db: updating db:1 to /),
      expect.stringMatching(/^db: updated/),
      expect.stringMatching(/ checked, 1 updated, 0 failed$/),
    ];
    expect(said.slice(0, 8)).toEqual([...once, ...once]);
  });

  test('with --json prints a document on each line', async () => {
    const events = startUpkeep(['events', '--json', '--url', service.url], { env: { UPKEEP_TOKEN: eventsToken } });
    await untilStreams(service, 1);
    await service.application.update({ images: [], containers: [], trigger: 'http' });
    await events.seen('"scan_completed"');
    events.child.kill('SIGTERM');
    const { code, stdout } = await events.ended;
    expect(code).toBe(143);
    const types = stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types).toEqual(['scan_started', 'scan_completed']);
  });

  test('the API token is not the events token, and it says so', async () => {
    const run = await runUpkeep(['events', '--url', service.url, '--token', apiToken]);
    expectFailure(run, /the token is missing or wrong\n {2}Give the events token/);
  });
});

describe('what cannot be', () => {
  test.each(['history', 'events'])('upkeep %s without --url is told how to reach a service', async (command) => {
    const { code, stderr } = await runUpkeep([command]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/without a running service: name it with --url or UPKEEP_URL/);
  });

  test.each(['ftp://x', 'http://', 'service:8080', 'http://me:secret@service', 'http://x/?a=b'])(
    '--url %s is refused',
    async (url) => {
      const { code, stderr } = await runUpkeep(['containers', '--url', url]);
      expect(code).toBe(2);
      expect(stderr).toContain('expected an address such as http://server:8080');
      expect(stderr).not.toContain('secret@');
    },
  );

  test('a service that is not there, or does not serve the group, or limits us', async () => {
    const scene = await startHttp(createScriptedService(), { settings: { groups: ['config'], rateLimit: 2 } });
    const flags = ['--url', scene.url, '--token', apiToken];
    expectFailure(
      await runUpkeep(['history', ...flags]),
      /it does not serve that\n {2}Add history to --http-api-endpoints/,
    );
    expectFailure(
      await runUpkeep(['events', ...flags]),
      /it does not serve that\n {2}Add events to --http-api-endpoints/,
    );
    expectFailure(await runUpkeep(['config', ...flags]), /too many requests; try again in \d+[ms]/);
    await scene.stop();
    expectFailure(await runUpkeep(['config', ...flags]), /Cannot reach the service at .*: the connection was refused/);
  });

  test('another server', async () => {
    const other = createServer((_request, response) => response.end('<html>')).listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    for (const command of ['containers', 'history', 'config', 'events'])
      expectFailure(await runUpkeep([command, '--url', url]), /it does not look like that of an Upkeep/);
    const json = await runUpkeep(['history', '--json', '--url', url]);
    expect(JSON.parse(json.stdout)).toMatchObject({ code: 'service-invalid', api_version: 'v1' });
    other.close();
  });
});

test('over TLS it wants to know the authority, as NODE_EXTRA_CA_CERTS names it', async () => {
  const tls = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url));
  const settings = { tls: { certFile: tls('server.pem'), keyFile: tls('server.key') } };
  const scene = await startHttp(createScriptedService(), { settings });
  const args = ['config', '--url', scene.url, '--token', apiToken];
  expectFailure(await runUpkeep(args), /unknown authority\n {2}.*NODE_EXTRA_CA_CERTS/);
  expect((await runUpkeep(args, { env: { NODE_EXTRA_CA_CERTS: tls('ca.pem') } })).code).toBe(0);
  const plain = scene.url.replace('https:', 'http:');
  expect((await runUpkeep(['config', '--url', plain])).code).toBe(1);
  await scene.stop();
});

const wrongHost = { env: { DOCKER_HOST: 'tcp://nas:99999' } };

test.each<readonly [readonly string[], Parameters<typeof runUpkeep>[1], RegExp]>([
  [['check'], wrongHost, /Cannot use "tcp:\/\/nas:99999" as the address/],
  [['containers'], wrongHost, /as the address/],
  [['rollback', 'web'], wrongHost, /as the address/],
  [['update', '--json', '--host', 'tcp://nas:99999'], {}, /as the address/],
  [['check', '--host', 'unix:///nowhere', '--waves', ',,'], {}, /Cannot use --waves ",,"/],
  [['update', '--host', 'a=unix:///nowhere,b=unix:///nor-here', '--waves', '50%,10%'], {}, /Cannot use --waves/],
  [['approve', 'web'], {}, /the decision would not be stored/],
])('%j %o: a value that shows to be wrong only when it is used exits with 2', async (command, options, words) => {
  const { code, stderr } = await runUpkeep(command, options);
  expect([code, stderr]).toEqual([2, expect.stringMatching(words)]);
});

test('a service that cannot start with such a value exits with 1', async () => {
  expect((await runUpkeep(['run'], wrongHost)).code).toBe(1);
});

test('upkeep config without --url shows what this command line and environment mean, and no secret', async () => {
  const env = { UPKEEP_HTTP_API_TOKEN: 'hunter2', WATCHTOWER_SCOPE: 'prod' };
  const { code, stdout, stderr } = await runUpkeep(['config', '--cleanup', '--interval', '6h'], { env });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^cleanup +true +--cleanup$/m);
  expect(stdout).toMatch(/^interval +6h +--interval$/m);
  expect(stdout).toMatch(/^scope +prod +WATCHTOWER_SCOPE$/m);
  expect(stdout).toMatch(/^http-api-token +\*\*\* +UPKEEP_HTTP_API_TOKEN$/m);
  expect(stdout).toMatch(/^Watched: All containers, .*in the scope "prod"$/m);
  expect(stdout + stderr).not.toContain('hunter2');
  const bad = await runUpkeep(['config', '--interval', 'soon']);
  expect(bad.code).toBe(2);
});

test('a demonstration can be asked as any service', async () => {
  const tokens = ['--http-api-token', apiToken, '--http-api-events-token', eventsToken];
  const demo = startUpkeep(['demo', '--http-api-port', '0', ...tokens]);
  await demo.seen('API token: ');
  const [, url = ''] = /Page: (\S+)\//.exec(demo.output()) ?? [];
  const events = startUpkeep(['events', '--url', url, '--token', eventsToken]);
  await events.seen(' updated, ');
  const { stdout } = await runUpkeep(['containers', '--json', '--url', url, '--token', apiToken]);
  expect(JSON.parse(stdout)).toMatchObject({ count: 14 });
  const config = await runUpkeep(['config', '--url', url, '--token', apiToken]);
  expect(config.stdout).toMatch(/^http-api-token +\*\*\* /m);
  expect((await ask(url, '/v1/history')).json().count).toBeGreaterThan(0);
  expect((await runUpkeep(['history', '--url', url, '--token', apiToken])).stdout).toMatch(/^\S+Z .* schedule( |$)/m);
  for (const { child, ended } of [events, demo]) {
    child.kill('SIGINT');
    await ended;
  }
});

function expectFailure({ code, stderr }: UpkeepRun, why: RegExp): void {
  expect(code).toBe(1);
  expect(stderr).toMatch(/^upkeep: Cannot /m);
  expect(stderr).toMatch(why);
  expect(stderr).not.toMatch(/\.(?:js|ts):\d|internal error/);
}

/** Before a stream is open, an event would be missed. */
async function untilStreams({ http }: WholeService, count: 0 | 1): Promise<void> {
  await until(() => http.streams.count() === count);
}

async function seenTimes(output: () => string, pattern: RegExp, times: number): Promise<void> {
  await until(() => (output().match(pattern) ?? []).length >= times);
}

async function until(isSo: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 15_000;
  while (!isSo()) {
    if (performance.now() > deadlineMs) throw new Error('It has never become so');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
