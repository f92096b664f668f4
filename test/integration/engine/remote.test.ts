import { cpSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { createFaultProxy, type FaultProxy, type ProxiedCall } from '../../lab/proxy/fault-proxy.ts';
import { isPodman } from '../../lab/engine/podman.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { skipBecause } from '../../lab/skip-because.ts';
import { startSshServer } from '../../lab/engine/ssh-server.ts';
import { runUpkeep, type UpkeepRun } from '../../support/scene/run-upkeep.ts';

/** The executable, and an engine that it does not reach by a local socket. */
describeInLab('an engine that is reached another way', (lab) => {
  const image = `${lab.registry.host}/remote/web:stable`;
  let oldId = '';

  beforeEach(async () => {
    await pushImage(lab.registry, 'remote/web', 'stable', catalogue['plain-v1']);
    await lab.engine.pull(image);
    oldId = await lab.engine.run('web', image, {
      StopTimeout: 1,
      HostConfig: { RestartPolicy: { Name: 'unless-stopped' } },
    });
    await pushImage(lab.registry, 'remote/web', 'stable', catalogue['plain-v2']);
  });
  afterEach(() => lab.engine.clear());

  async function expectUpdate(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<void> {
    const checked = await runUpkeep(['check', '--json', ...args], { env });
    expect(checked.stdout, checked.stderr).toContain('"update_available": true');
    const run = await update(args, env);
    expect(run.stdout, run.stderr).toContain('"outcome": "updated"');
    const now = await lab.engine.inspect('web');
    expect(now).toMatchObject({ State: { Running: true } });
    expect(now?.Id).not.toBe(oldId);
  }

  test('over ssh', async () => {
    const server = await startSshServer(lab.dir, { DOCKER_HOST: `unix://${lab.engine.socket}` });
    onTestFinished(() => server.stop());
    await expectUpdate(['--host', `ssh://root@${server.host}`], { HOME: '/root' });
  });

  test('over TCP with TLS and a client certificate, and not without one', async (context) => {
    if (isPodman) skipBecause(context, 'Podman’s service speaks no TLS');
    const { caFile, serverCertificate, serverKey, dockerClient } = lab.pki;
    const certificates = ['--tlscacert', caFile, '--tlscert', serverCertificate, '--tlskey', serverKey];
    const args = ['--host', 'tcp://127.0.0.1:23761', '--tlsverify', ...certificates];
    const engine = await lab.startEngine({ name: 'tls-executable', args });
    onTestFinished(() => engine.remove());
    await pushImage(lab.registry, 'remote/tls', 'stable', catalogue['plain-v1']);
    await engine.pull(`${lab.registry.host}/remote/tls:stable`);
    await engine.run('secured', `${lab.registry.host}/remote/tls:stable`, { StopTimeout: 1 });
    await pushImage(lab.registry, 'remote/tls', 'stable', catalogue['plain-v2']);
    const host = ['--host', 'tcp://127.0.0.1:23761'];
    const run = await update([...host, '--tlsverify', '--cert-path', dockerClient]);
    expect(run.stdout, run.stderr).toContain('"outcome": "updated"');
    const without = await runUpkeep(['check', ...host]);
    expect(without.code).not.toBe(0);
    expect(without.stderr).toContain('it wants TLS');
    const ofAnother = mkdtempSync(join(lab.dir, 'docker-client-'));
    cpSync(dockerClient, ofAnother, { recursive: true });
    cpSync(lab.pki.tokenCertificate, join(ofAnother, 'ca.pem'));
    const doubting = await runUpkeep(['check', ...host, '--cert-path', ofAnother, '--tlsverify']);
    expect([doubting.code, doubting.stderr]).toEqual([1, expect.stringContaining('certificate')]);
    expect((await runUpkeep(['check', ...host, '--cert-path', ofAnother])).code).toBe(0);
  });

  describe('through a proxy that allows what docs/engines.md lists', () => {
    test('check needs no more than its table, update no more than both', async () => {
      const { host, refused, proxy } = await allowing([...forCheck, ...forPodman]);
      const checked = await runUpkeep(['check', '--json', ...host]);
      expect(checked.stdout, checked.stderr).toContain('"update_available": true');
      const questions = refused();
      expect(questions.filter((call) => !isQuestion(call))).toEqual([]);
      proxy.disarm();
      forbidAllBut(proxy, [...forCheck, ...forUpdate, ...forPodman]);
      const run = await update(host);
      expect(run.stdout, run.stderr).toContain('"outcome": "updated"');
      expect(refused()).toEqual(questions);
    });

    test.each([
      [['GET /version']],
      [['GET /containers/json', 'GET /images/json']],
      [['GET /images/json', 'GET /networks', 'POST /containers/{id}/start']],
    ])('without %s it says which calls to allow, all at once', async (missing) => {
      const all = [...forCheck, ...forUpdate, ...forPodman];
      const { host } = await allowing(all.filter(({ text }) => !missing.includes(text)));
      const { stdout, stderr } = await runUpkeep(['check', ...host]);
      expect(stdout + stderr).toContain('403');
      for (const call of missing) expect(stdout + stderr).toContain(call);
    });

    test.each([
      [403, ['POST /images/create']],
      [405, ['POST /containers/create']],
      [404, ['POST /containers/{id}/rename']],
      [403, ['POST /containers/{id}/start']],
      [404, ['POST /containers/{id}/start', 'GET /networks']],
      [405, ['POST /images/{name}/tag', 'DELETE /images/{name}', 'DELETE /containers/{id}']],
    ] as const)(
      'set-up forbidden calls: answered with %i, without %s, an update changes nothing and says which calls to allow',
      async (status, missing) => {
        const { host, proxy } = await allowing(
          [...forCheck, ...forUpdate, ...forPodman].filter(({ text }) => !missing.some((one) => one === text)),
          status,
        );
        const run = await update(host);
        expect(run.code).toBe(1);
        for (const call of missing.filter((one) => !one.startsWith('DELETE'))) expect(run.stdout).toContain(call);
        expect(run.stdout).toMatch(/POST=1.*-allow[A-Z]+=/);
        expect(run.stdout).not.toContain('<h1>');
        expect(proxy.calls.filter(({ change }) => change !== undefined)).toEqual([]);
        expect(await lab.engine.inspect('web')).toMatchObject({ Id: oldId, State: { Running: true } });
      },
    );
  });

  /** A proxy like haproxy: a refused request gets an HTML page, not the engine's JSON. */
  async function allowing(endpoints: readonly Endpoint[], status = 403) {
    const socketPath = join(lab.dir, 'allow.sock');
    const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: lab.engine.socket } });
    onTestFinished(() => proxy.close());
    forbidAllBut(proxy, endpoints, status);
    const refused = () =>
      proxy.calls.filter(({ fault }) => fault !== undefined).map(({ method, path }) => `${method} ${path}`);
    return { proxy, refused, host: ['--host', `unix://${socketPath}`] };
  }
});

/** Whether it asks if a call is permitted, about an object that cannot exist. A check that finds an update asks too. */
function isQuestion(call: string): boolean {
  return /0{32}[\da-f]{32}|[?&]fromImage=-&|\/events\?since=1&until=2/.test(call);
}

function update(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<UpkeepRun> {
  return runUpkeep(['update', '--json', '--health-window', '500ms', ...args], { env });
}

function forbidAllBut(proxy: FaultProxy, endpoints: readonly Endpoint[], status = 403): void {
  const body = '<html><body><h1>403 Forbidden</h1></body></html>';
  proxy.arm({
    at: (call) => !endpoints.some(({ allows }) => allows(call)),
    times: Infinity,
    fault: { kind: 'answer', when: 'before', status, body, headers: { 'content-type': 'text/html' } },
  });
}

type Endpoint = { readonly text: string; readonly allows: (call: ProxiedCall) => boolean };

const page = readFileSync(fileURLToPath(new URL('../../../docs/engines.md', import.meta.url)), 'utf8');
const forCheck = endpointsAfter('For `check`:');
const forUpdate = endpointsAfter('For `update`, also:');
const forPodman = isPodman
  ? endpointsAfter('for the named feature:').filter(({ text }) => text.includes('/libpod/'))
  : [];

/** The rows of the first table behind these words. */
function endpointsAfter(words: string): readonly Endpoint[] {
  const [, after = ''] = page.split(words);
  const [table = ''] = after.split(/\n\n(?!\|)/);
  const rows = [...table.matchAll(/^\| ([A-Z]+) \| `([^`]+)`/gm)];
  return rows.map(([, method = '', path = '']) => {
    const pattern = path
      .replaceAll('.', String.raw`\.`)
      .replaceAll('{name}', '.+')
      .replaceAll('{id}', '[^/]+');
    const expression = new RegExp(String.raw`^(?:/v1\.\d+)?${pattern}(?:\?.*)?$`);
    return { text: `${method} ${path}`, allows: (call) => call.method === method && expression.test(call.path) };
  });
}
