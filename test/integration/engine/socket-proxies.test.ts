import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { createFaultProxy, type FaultProxy } from '../../lab/proxy/fault-proxy.ts';
import { behave, linuxserver, type SocketProxy, tecnativa, wollomatic } from '../../lab/proxy/socket-proxy.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { httpRequest } from '../../lab/http.ts';
import { runUpkeep, startUpkeep } from '../../support/scene/run-upkeep.ts';

/** `-allowGET=…` and so on of the example for Watchtower in the proxy's own repository. */
const watchtowers = {
  '-allowGET': String.raw`/v1\..{2}/(containers/.*|images/.*|info)`,
  '-allowPOST': String.raw`/v1\..{2}/(containers/.*|images/.*|networks/.*)`,
  '-allowDELETE': String.raw`/v1\..{2}/(containers/.*|images/.*)`,
  '-allowHEAD': '/_ping',
};

const withNetworks = {
  ...watchtowers,
  '-allowGET': String.raw`/v1\..{2}/(containers/.*|images/.*|networks|info)`,
};

/** The settings that people find for Watchtower and its successors, and those of docs/engines.md. */
describeInLab('the proxies before the socket that people have', (lab) => {
  afterEach(() => lab.engine.clear());
  const image = `${lab.registry.host}/proxies/web:stable`;

  async function outdated(): Promise<string> {
    await pushImage(lab.registry, 'proxies/web', 'stable', catalogue['plain-v1']);
    await lab.engine.pull(image);
    const id = await lab.engine.run('web', image, { StopTimeout: 1 });
    await pushImage(lab.registry, 'proxies/web', 'stable', catalogue['plain-v2']);
    return id;
  }

  async function behind(rules: SocketProxy): Promise<{ readonly socket: string; readonly proxy: FaultProxy }> {
    const socket = join(lab.dir, 'behind.sock');
    const proxy = await createFaultProxy({
      listen: { socketPath: socket },
      upstream: { socketPath: lab.engine.socket },
    });
    onTestFinished(() => proxy.close());
    behave(proxy, rules);
    return { socket, proxy };
  }

  const update = (socket: string) => runUpkeep(['update', '--json', '--health-window', '500ms'], { socket });

  test.each([
    ['Tecnativa’s without INFO', tecnativa('CONTAINERS', 'IMAGES', 'NETWORKS', 'POST')],
    [
      'LinuxServer’s first one without INFO and PING',
      linuxserver('CONTAINERS', 'IMAGES', 'NETWORKS', 'POST', 'VERSION', 'ALLOW_START', 'ALLOW_STOP'),
    ],
    ['wollomatic’s without VERSION and EVENTS', wollomatic(withNetworks)],
  ])('set-up socket proxy: %s works', async (_, rules) => {
    const old = await outdated();
    const { socket } = await behind(rules);
    const checked = await runUpkeep(['check', '--json'], { socket });
    expect(checked.stdout, checked.stderr).toContain('"update_available": true');
    const run = await update(socket);
    expect(run.stdout, run.stderr).toContain('"outcome": "updated"');
    const now = await lab.engine.inspect('web');
    expect(now?.State.Running).toBe(true);
    expect(now?.Id).not.toBe(old);
    const health = await runUpkeep(['run', '--health-check'], { socket });
    expect([health.code, health.stderr]).toEqual([0, '']);
  });

  test.each([
    [
      'Tecnativa’s for reading',
      tecnativa('CONTAINERS', 'IMAGES', 'INFO'),
      ['NETWORKS=1', 'POST=1'],
      ['POST /containers/create', 'GET /networks'],
    ],
    [
      'LinuxServer’s first one with stops and without starts',
      linuxserver('CONTAINERS', 'IMAGES', 'NETWORKS', 'INFO', 'VERSION', 'POST', 'ALLOW_STOP', 'ALLOW_RESTARTS'),
      ['ALLOW_START=1'],
      ['POST /containers/{id}/start'],
    ],
    ['wollomatic’s for Watchtower', wollomatic(watchtowers), ["'-allowGET="], ['GET /networks']],
    [
      'wollomatic’s without POST',
      wollomatic({ '-allowGET': '.*' }),
      ["'-allowPOST=", "'-allowDELETE="],
      ['POST /images/create', 'POST /containers/{id}/rename'],
    ],
  ])(
    'set-up socket proxy: %s lets nothing begin, and the report says what to change',
    async (_, rules, settings, calls) => {
      const old = await outdated();
      const { socket, proxy } = await behind(rules);
      const checked = await runUpkeep(['check'], { socket });
      for (const said of settings) expect(checked.stdout).toContain(said);
      const run = await update(socket);
      expect(run.code).toBe(1);
      for (const said of [...settings, ...calls]) expect(run.stdout).toContain(said);
      expect(run.stdout + run.stderr).not.toMatch(/<h1>|<html/);
      expect(proxy.calls.filter(({ change }) => change !== undefined)).toEqual([]);
      expect(await lab.engine.inspect('web')).toMatchObject({ Id: old, State: { Running: true } });
    },
  );

  const json = { 'content-type': 'application/json' };
  test.each([
    ['nginx’s page', 403, '<html><head><title>403 Forbidden</title></head><body>403 Forbidden</body></html>', {}],
    ['a line', 403, 'Forbidden\n', {}],
    ['nothing', 403, '', {}],
    ['Portainer’s JSON', 403, '{"message":"Access denied to resource","details":"Access denied to resource"}', json],
    ['JSON of one word', 403, '{"message":"Forbidden"}', json],
    ['a plugin of the engine', 403, '{"message":"authorization denied by plugin opa: access denied: by policy"}', json],
    ['wollomatic’s line', 405, 'Method Not Allowed\n', {}],
    ['a router without the path', 404, '404 page not here', {}],
  ])(
    'set-up socket proxy: a refused pull is told as that of the proxy, and not as a missing login (%s)',
    async (_, status, body, headers) => {
      const old = await outdated();
      const { socket, proxy } = await behind(tecnativa('CONTAINERS', 'IMAGES', 'NETWORKS', 'POST', 'INFO'));
      proxy.arm({
        // By its image, as a rule with a pattern does: the question about the right is answered.
        at: ({ path }) => path.includes('/images/create') && !path.includes('fromImage=-'),
        times: Infinity,
        fault: { kind: 'answer', when: 'before', status, body, headers },
      });
      const run = await update(socket);
      expect(run.code).toBe(1);
      const said = run.stdout + run.stderr;
      expect(said).not.toMatch(/login|<html|<body/i);
      expect(said).toMatch(/proxy/i);
      expect(run.stdout).toMatch(/"outcome": "failed"/);
      expect(await lab.engine.inspect('web')).toMatchObject({ Id: old, State: { Running: true } });
    },
  );

  describe.each([
    ['containers', tecnativa('IMAGES', 'NETWORKS', 'POST', 'INFO'), 'GET /containers/json'],
    ['images', tecnativa('CONTAINERS', 'NETWORKS', 'POST', 'INFO'), 'GET /images/json'],
    [
      'the version and a description',
      wollomatic({ ...withNetworks, '-allowGET': String.raw`/v1\..{2}/(containers|images)/.*` }),
      'GET /info',
    ],
  ])('without the right to read %s', (_, rules, call) => {
    test('the service is not ready, and says why, until it may', async () => {
      const { socket, proxy } = await behind(rules);
      const token = ['--http-api-token', 'secret-token', '--http-api-port', '0'];
      const service = startUpkeep(['run', '--http-api-endpoints', 'health,metrics', ...token], { socket });
      onTestFinished(() => void service.child.kill('SIGKILL'));
      await service.seen('Waiting for the container engine');
      const [, url = ''] = /"address":"([^"]+)"/.exec(service.output()) ?? [];
      const ready = async () => {
        const { status, body } = await httpRequest({ url: `${url}/readyz` });
        return `${status} ${body.toString()}`;
      };
      expect(await ready()).toMatch(/^503 /);
      expect(service.output()).toContain(call);
      const health = await runUpkeep(['run', '--health-check'], { socket });
      expect([health.code, health.stderr]).toEqual([1, expect.stringContaining('forbids')]);
      proxy.disarm();
      await expect.poll(ready, { timeout: 20_000 }).toMatch(/^200 /);
      service.child.kill('SIGTERM');
      expect((await service.ended).code).toBe(0);
    });
  });
});
