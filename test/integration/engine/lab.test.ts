import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { createFaultProxy } from '../../lab/proxy/fault-proxy.ts';
import { engineClient } from '../../lab/engine/engine-client.ts';
import { httpRequest } from '../../lab/http.ts';
import { pushImage, pushIndex } from '../../lab/registry/push.ts';

describeInLab('the lab itself', (lab) => {
  const app = `${lab.registry.host}/app`;
  afterEach(() => lab.engine.clear());

  test('runs the catalogue: the good, the sick, the crashing', async () => {
    for (const tag of ['v1', 'sick', 'slow', 'other-defaults', 'crash', 'unstartable', 'oci', 'multi', 'multi-oci'])
      await lab.engine.pull(`${app}:${tag}`);
    for (const tag of ['v1', 'sick', 'slow', 'other-defaults', 'oci']) await lab.engine.run(tag, `${app}:${tag}`);
    await lab.engine.run('crash', `${app}:crash`);
    await expect(lab.engine.run('unstartable', `${app}:unstartable`)).rejects.toThrow('nothing-here');
    await expect(lab.engine.pull(`${app}:arm-only`)).rejects.toThrow(/no matching manifest/);

    const health =
      (wanted: string) => (container: { readonly State: { readonly Health?: { readonly Status: string } } }) =>
        container.State.Health?.Status === wanted;
    await lab.engine.waitFor('v1', health('healthy'));
    await lab.engine.waitFor('other-defaults', health('healthy'));
    await lab.engine.waitFor('sick', health('unhealthy'));
    await lab.engine.waitFor('slow', health('healthy'));
    const crashed = await lab.engine.waitFor('crash', ({ State }) => State.Status === 'exited');
    expect(crashed.State.ExitCode).toBe(3);
  });

  test('publishes ports', async () => {
    await lab.engine.pull(`${app}:plain-v1`);
    await lab.engine.run('web', `${app}:plain-v1`, {
      HostConfig: { PortBindings: { '8080/tcp': [{ HostPort: '18080' }] } },
    });
    await expect.poll(() => get('http://127.0.0.1:18080/')).toBe('v1\n');
  });

  test('tells the digests that the engine tells', async () => {
    const single = await pushImage(lab.registry, 'lab/single', 'one', catalogue.v1);
    const index = await pushIndex(lab.registry, 'lab/index', 'one', catalogue.oci, { attestations: true });
    for (const [name, pushed] of [['single', single] as const, ['index', index] as const]) {
      await lab.engine.pull(`${lab.registry.host}/lab/${name}:one`);
      const image = (await lab.engine.call('GET', `/images/${lab.registry.host}/lab/${name}:one/json`)).body;
      expect(image).toMatchObject({
        Id: pushed.configDigest,
        RepoDigests: [`${lab.registry.host}/lab/${name}@${pushed.digest}`],
      });
    }
  });

  test('has registries that want a password, a token, a certificate, and one that mirrors', async () => {
    const basic = await lab.startRegistry({ auth: 'basic' });
    const token = await lab.startRegistry({ auth: 'token' });
    const secure = await lab.startRegistry({ tls: true, address: '198.18.0.1' });
    const mirror = await lab.startRegistry({ mirrorOf: lab.registry.url });
    for (const registry of [basic, token, secure]) await pushImage(registry, 'team/tool', 'one', catalogue.v1);

    await expect(lab.engine.pull(`${basic.host}/team/tool:one`)).rejects.toThrow(/no basic auth|unauthorized/);
    await lab.engine.pull(`${basic.host}/team/tool:one`, basic.credentials);
    await expect(lab.engine.pull(`${token.host}/team/tool:one`)).rejects.toThrow(/denied|unauthorized/);
    await lab.engine.pull(`${token.host}/team/tool:one`, { username: 'reader', password: 'read-secret' });
    expect(token.tokenServer?.requests.at(-1)).toMatchObject({ username: 'reader', status: 200 });
    const port = secure.host.split(':')[1];
    await expect(lab.engine.pull(`secure.test:${port}/team/tool:one`)).rejects.toThrow(/x509/);
    await lab.engine.pull(`${mirror.host}/app:v2`);
    for (const registry of [basic, token, secure, mirror]) await registry.remove();
  });

  test('has more engines, which can be killed and started again beside the shared one', async () => {
    const mirror = await lab.startRegistry();
    await pushImage(mirror, 'library/nginx', 'latest', catalogue['plain-v1']);
    const engine = await lab.startEngine({ name: 'spare', args: ['--live-restore'], hubMirror: mirror.url });
    await engine.pull('nginx:latest');
    await engine.run('web', 'nginx:latest', { HostConfig: { PortBindings: { '8080/tcp': [{ HostPort: '18081' }] } } });
    const before = (await engine.inspect('web'))?.State.Pid;
    const { pid } = engine;
    const firstPid = pid();
    await engine.kill();
    await engine.start();
    expect(pid()).not.toBe(firstPid);
    const after = await engine.waitFor('web', ({ State }) => State.Running);
    expect(after.State.Pid).toBe(before);
    expect(await get('http://127.0.0.1:18081/')).toBe('v1\n');
    await engine.powerCut();
    await engine.start();
    expect((await engine.inspect('web'))?.State).toMatchObject({ Status: 'exited', ExitCode: 255 });
    await engine.remove();

    await lab.engine.pull(`${app}:plain-v1`);
    await lab.engine.run('web', `${app}:plain-v1`, {
      HostConfig: { PortBindings: { '8080/tcp': [{ HostPort: '18080' }] } },
    });
    await expect.poll(() => get('http://127.0.0.1:18080/')).toBe('v1\n');
    await mirror.remove();
  });

  test('makes single calls of the engine go wrong', async () => {
    const socketPath = join(lab.dir, 'proxy.sock');
    const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: lab.engine.socket } });
    const client = engineClient(socketPath);
    proxy.arm({ at: 2, fault: { kind: 'reset', when: 'after' } });
    await client.pull(`${app}:plain-v1`);
    await expect(client.create('web', `${app}:plain-v1`)).rejects.toThrow('socket hang up');
    expect(proxy.calls.filter(({ change }) => change !== undefined)).toMatchObject([
      { change: 1, fault: undefined, status: 200 },
      { change: 2, fault: 'reset', status: 201 },
    ]);
    expect(await client.inspect('web')).toBeDefined();
    await proxy.close();
  });
});

async function get(url: string): Promise<string> {
  const reply = await httpRequest({ url }).catch(() => undefined);
  return reply?.body.toString() ?? '';
}
