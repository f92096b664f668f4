import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import type { LabEngine } from '../lab/engine/engine.ts';
import { imageIdOf } from '../lab/engine/image-id.ts';
import { isPodman } from '../lab/engine/podman.ts';
import { createFaultProxy } from '../lab/proxy/fault-proxy.ts';
import type { LabRegistry } from '../lab/registry/registry.ts';
import { type ProxyOptions, startBehindProxy } from '../support/scene/behind-a-proxy.ts';
import { logOf, socketProxyImage, upkeepImage } from '../support/scene/upkeep-in-a-container.ts';

/** Upkeep in a container of a real engine, which it reaches through a proxy of the socket alone. */
describeInLab('an update of the engine’s door', (lab) => {
  let engine: LabEngine;
  let registry: LabRegistry | undefined;
  beforeAll(async () => {
    // Podman has no registry that its networks reach: its containers here are in the network of the host.
    registry = isPodman ? undefined : await lab.startRegistry({ address: '198.18.0.1' });
    const args = isPodman ? [] : ['--insecure-registry', '198.18.0.0/16'];
    engine = await lab.startEngine({ name: 'door', args });
  });
  afterEach(() => engine.clear());
  afterAll(async () => {
    await engine.remove();
    await registry?.remove();
  });

  const start = (options: Partial<ProxyOptions> = {}) =>
    startBehindProxy(
      { engine, registry: registry ?? lab.registry },
      { socket: engine.socket, repository: 'door/up', next: socketProxyImage('v2'), ...options },
    );

  async function waitForLine(line: string | RegExp, times = 1): Promise<string> {
    for (let tries = 0; tries < 1000; tries += 1) {
      const log = await logOf(engine, 'upkeep');
      if (log.split(line).length > times) return log;
      await sleep(100);
    }
    throw new Error(`"${line}" was not logged: ${await logOf(engine, 'upkeep')}`);
  }

  async function states(): Promise<string[]> {
    const { body } = await engine.call('GET', '/containers/json?all=1');
    return (body as { Names: string[]; State: string }[]).map((one) => `${one.Names[0]} ${one.State}`).sort();
  }

  const published = (HostPort: string) => ({ PortBindings: { '2375/tcp': [{ HostIp: '', HostPort }] } });
  const onHost = { NetworkMode: 'host' };
  const ways: Readonly<Record<string, Partial<ProxyOptions>>> = {
    'a name in a shared network': {},
    'a published port of the host': {
      address: 'tcp://host.docker.internal:12375',
      door: { host: published('12375') },
      upkeep: { host: { ExtraHosts: ['host.docker.internal:host-gateway'] } },
    },
    'a port of the network of the host, with a name that says nothing': {
      name: 'gate',
      address: 'tcp://127.0.0.1:12376',
      door: { host: onHost, config: { Env: ['PATH=/usr/bin:/bin', 'LISTEN=12376'] } },
      upkeep: { host: onHost },
    },
    'a socket in a shared volume': {
      address: 'unix:///proxied/engine.sock',
      door: { binds: ['shared:/made'], config: { Env: ['PATH=/usr/bin:/bin', 'LISTEN=/made/engine.sock'] } },
      upkeep: { binds: ['shared:/proxied'] },
    },
    'a proxy of which Upkeep is an ordinary user, read-only, without capabilities': {
      upkeep: {
        config: { User: '65534:65534' },
        host: { ReadonlyRootfs: true, CapDrop: ['ALL'], SecurityOpt: ['no-new-privileges'] },
      },
    },
  };

  const onEngine = isPodman
    ? Object.entries(ways).filter(([, { door }]) => door?.host === onHost)
    : Object.entries(ways);
  const withNetworks = test.skipIf(isPodman);

  test.each(onEngine)('failure 42: a helper replaces it, reached by %s', async (_, options) => {
    const { name = 'socket-proxy' } = options;
    const { door, nextDoor, upkeep } = await start(options);
    const before = (await engine.inspect(door))!;
    const log = await waitForLine('2 containers checked, 1 updated');
    const after = (await engine.inspect(name))!;
    expect(after.Image, log).toBe(imageIdOf(nextDoor));
    expect(after.HostConfig).toEqual(before.HostConfig);
    expect(await states()).toEqual([`/${name} running`, '/upkeep running']);
    expect((await engine.inspect('upkeep'))!.Id).toBe(upkeep);
    expect(log).toMatch(new RegExp(`"${name}\\\\" was updated from \\S+ to v2`));
  });

  const passes = (TARGET: string, LISTEN = '2375') => ({
    config: { Env: ['PATH=/usr/bin:/bin', `TARGET=${TARGET}`, `LISTEN=${LISTEN}`] },
  });
  const chains: Readonly<Record<string, Partial<ProxyOptions>>> = {
    'by its name': { address: 'tcp://front:2375', between: { front: passes('core:2375') } },
    twice: {
      address: 'tcp://front:2375',
      between: { relay: passes('core:2375'), front: passes('relay:2375') },
    },
    'by a port of the host': {
      address: 'tcp://front:2375',
      door: { host: { ...published('12379'), NetworkMode: 'bridge' } },
      between: {
        front: { ...passes('host.docker.internal:12379'), host: { ExtraHosts: ['host.docker.internal:host-gateway'] } },
      },
    },
    'and makes a socket in a volume': {
      address: 'unix:///proxied/engine.sock',
      between: { front: { ...passes('core:2375', '/made/engine.sock'), binds: ['chained:/made'] } },
      upkeep: { binds: ['chained:/proxied'] },
    },
    'by a socket in a volume': {
      address: 'tcp://front:2375',
      door: { binds: ['hops:/out'], config: { Env: ['PATH=/usr/bin:/bin', 'LISTEN=/out/engine.sock'] } },
      between: { front: { ...passes('/in/engine.sock'), binds: ['hops:/in'] } },
    },
  };

  withNetworks.each(Object.entries(chains))(
    'failure 42: helpers replace it and what passes calls on to it %s',
    async (_, options) => {
      const { upkeep } = await start({ name: 'core', ...options });
      const names = ['core', ...Object.keys(options.between ?? {})];
      const log = await waitForLine(`${names.length + 1} containers checked, ${names.length} updated`);
      for (const name of names) {
        const { Config, State } = (await engine.inspect(name))!;
        expect([name, Config.Labels['org.opencontainers.image.version'], State.Running], log).toEqual([
          name,
          'v2',
          true,
        ]);
      }
      expect(await states()).toEqual([...names, 'upkeep'].toSorted().map((name) => `/${name} running`));
      expect((await engine.inspect('upkeep'))!.Id).toBe(upkeep);
      for (const name of names) expect(log).toMatch(new RegExp(`"${name}\\\\" was updated from \\S+ to v2`));
    },
  );

  withNetworks.each([
    ['ends at once', { Entrypoint: ['sh', '-c', 'exit 3'] }, 'exited with code 3'],
    ['passes no call on', { Env: ['PATH=/usr/bin:/bin', 'TARGET=/nowhere'] }, 'cannot be reached through it'],
    ['listens at another port', { Env: ['PATH=/usr/bin:/bin', 'LISTEN=4000'] }, 'cannot be reached through it'],
  ])('failure 42: a new version that %s gives way to the old one', async (_, config, why) => {
    const { door, oldDoor } = await start({ next: socketProxyImage('v2', config) });
    const log = await waitForLine('2 containers checked, 0 updated, 1 failed');
    const after = (await engine.inspect('socket-proxy'))!;
    expect([after.Id, after.Image, after.State.Running], log).toEqual([door, imageIdOf(oldDoor), true]);
    expect(after.HostConfig.RestartPolicy.Name).toBe('unless-stopped');
    expect(log).toContain('outcome=rolled_back');
    expect(log).toContain(why);
    expect(await states()).toEqual(['/socket-proxy running', '/upkeep running']);
  });

  withNetworks('failure 42: Upkeep itself is replaced after its door, in the same run', async () => {
    const { nextDoor } = await start({ nextUpkeep: upkeepImage('v2') });
    await waitForLine('Upkeep itself was updated from v1 to v2');
    expect((await engine.inspect('socket-proxy'))!.Image).toBe(imageIdOf(nextDoor));
    expect(await states()).toEqual(['/socket-proxy running', '/upkeep running']);
  });

  withNetworks('failure 42: it is left alone, with the reason, where self-update is off', async () => {
    const { door } = await start({ cmd: ['--no-self-update'] });
    const log = await waitForLine('2 containers checked, 0 updated, 0 failed');
    expect(log).toContain(
      'carries the connection of Upkeep to the engine, so it is updated only by hand, because self-update is off',
    );
    expect((await engine.inspect('socket-proxy'))!.Id).toBe(door);
    expect(await states()).toEqual(['/socket-proxy running', '/upkeep running']);
  });

  withNetworks('failure 42: it stays as it is where the proxy forbids the mount of the helper', async () => {
    const socketPath = `${engine.dir}/no-mounts.sock`;
    const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
    onTestFinished(() => proxy.close());
    const fault = {
      kind: 'answer',
      when: 'before',
      status: 403,
      body: 'bind mount of the socket is not allowed',
    } as const;
    proxy.arm({
      at: ({ path }) => path.includes('/containers/create?name=socket-proxy.upkeep-helper'),
      times: Infinity,
      fault,
    });
    const { door } = await start({ socket: socketPath });
    const log = await waitForLine('2 containers checked, 0 updated, 1 failed');
    expect(log).toContain('a helper cannot be created');
    expect((await engine.inspect('socket-proxy'))!.Id).toBe(door);
    expect(await states()).toEqual(['/socket-proxy running', '/upkeep running']);
  });
});
