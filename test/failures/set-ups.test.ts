import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { createFaultProxy } from '../lab/proxy/fault-proxy.ts';
import { catalogue } from '../lab/registry/catalogue.ts';
import type { ImageSpec } from '../lab/registry/image.ts';
import { pushImage } from '../lab/registry/push.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';
import { logOf, nodeMounts, socketProxyImage, upkeepImage } from '../support/scene/upkeep-in-a-container.ts';
import { setRealStage } from './rig/real-stage.ts';

/** Whether someone listens at a port of this host. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1200; tries += 1) {
    if (await holds()) return;
    await sleep(50);
  }
  throw new Error('it does not hold within a minute');
}

/** Set-ups around a real engine that an updater must know, with the shipped executable. */
describeInLab('a set-up that people have', (lab) => {
  afterEach(() => lab.engine.clear());

  const of = (Labels: Readonly<Record<string, string>>) => ({ config: { StopTimeout: 1, Labels } });

  test('failure 41: containers of other managers are not watched, with the reason, unless their own label asks', async () => {
    const cast = {
      k8s_web: of({ 'io.kubernetes.pod.name': 'web', 'io.kubernetes.container.name': 'web' }),
      addon_ssh: of({ 'io.hass.type': 'addon' }),
      hassio: of({ supervisor_managed: '' }),
      ecs: of({ 'com.amazonaws.ecs.cluster': 'c' }),
      nomad: of({ 'com.hashicorp.nomad.job_name': 'x' }),
      'runner-build': of({ 'com.gitlab.gitlab-runner.type': 'build' }),
      ryuk: of({ 'org.testcontainers.ryuk': 'true' }),
      buildx_buildkit_multi0: {},
      'shop-web-run-1': of({ 'com.docker.compose.project': 'shop', 'com.docker.compose.oneoff': 'True' }),
      'kind-control-plane': of({ 'io.x-k8s.kind.cluster': 'kind' }),
      'dev-box': of({ 'devcontainer.local_folder': '/src' }),
      asked: of({ 'io.kubernetes.pod.name': 'web', 'upkeep.enable': 'true' }),
      'asked-as-before': of({ 'org.testcontainers': 'true', 'com.centurylinklabs.watchtower.enable': 'true' }),
      homeassistant: of({ 'io.hass.type': 'core', 'io.hass.version': '1' }),
      web: {},
    };
    const stage = await setRealStage(lab, cast);
    const { code, outcomes, stderr } = await stage.update();
    expect(code, stderr).toBe(0);
    const own = { asked: 'updated', 'asked-as-before': 'updated', homeassistant: 'updated', web: 'updated' };
    expect(outcomes).toEqual(own);
    for (const name of Object.keys(cast)) expect([name, await stage.isReplaced(name)]).toEqual([name, name in own]);
    expect(stderr).toContain('Container \\"k8s_web\\" is not watched: it belongs to a pod of Kubernetes');
    expect(await stage.harm()).toEqual([]);

    const named = await runUpkeep(['update', 'ecs'], { socket: lab.engine.socket });
    expect(named.code).toBe(1);
    expect(named.stderr).toContain('"ecs" is not watched: it belongs to a task of Amazon ECS');
    const list = await runUpkeep(['containers', '--all'], { socket: lab.engine.socket });
    expect(list.stdout).toMatch(/nomad .*belongs to an allocation of Nomad/);
    const check = await runUpkeep(['check'], { socket: lab.engine.socket });
    expect(check.stderr).toContain('"hassio\\"');
  });

  const proxied = {
    StopTimeout: 1,
    HostConfig: { Binds: [...nodeMounts, `${lab.engine.socket}:/var/run/docker.sock`] },
  };
  const proxy = (HostConfig: object, more: object = {}) => ({
    old: socketProxyImage('v1'),
    next: socketProxyImage('v2'),
    config: { ...proxied, ...more, HostConfig: { ...proxied.HostConfig, ...HostConfig } },
  });
  const published = (HostPort: string) => ({ PortBindings: { '2375/tcp': [{ HostIp: '127.0.0.1', HostPort }] } });

  test.each([
    { how: 'a published port', host: 'tcp://127.0.0.1:12375', config: published('12375') },
    { how: 'a name', host: 'tcp://localhost:12375', config: published('12375') },
    {
      how: 'the network of the host',
      host: 'tcp://127.0.0.1:12377',
      config: { NetworkMode: 'host' },
      env: ['LISTEN=12377'],
    },
    {
      how: 'a socket in a shared folder',
      host: `unix://${lab.dir}/own-way/engine.sock`,
      config: {},
      folder: `${lab.dir}/own-way`,
    },
  ])(
    'failure 42: the proxy that Upkeep reaches the engine through, by $how, is left alone',
    async ({ host, config, env = [], folder }) => {
      const shared = folder === undefined ? {} : { Binds: [...proxied.HostConfig.Binds, `${folder}:/shared`] };
      const listen = folder === undefined ? env : ['LISTEN=/shared/engine.sock'];
      const stage = await setRealStage(lab, {
        'socket-proxy': proxy({ ...config, ...shared }, { Env: ['PATH=/usr/bin:/bin', ...listen] }),
        web: {},
        'other-proxy': proxy(published('12378')),
      });
      const through = (args: readonly string[]) => runUpkeep([...args, '--host', host]);
      const checked = await through(['check', '--json']);
      expect(checked.code, checked.stderr).toBe(0);
      const reason = expect.stringContaining(
        'the container carries the connection of Upkeep to the engine, so it is updated only by hand',
      );
      expect((JSON.parse(checked.stdout) as { containers: object[] }).containers).toContainEqual(
        expect.objectContaining({ name: 'socket-proxy', status: 'held', hold: 'own-way', reason }),
      );
      const updated = await through(['update', '--json', '--health-window', '500ms']);
      expect(updated.code, updated.stderr).toBe(0);
      const { containers } = JSON.parse(updated.stdout) as { containers: { name: string; outcome: string }[] };
      expect(Object.fromEntries(containers.map(({ name, outcome }) => [name, outcome]))).toEqual({
        'socket-proxy': 'skipped',
        web: 'updated',
        'other-proxy': 'updated',
      });
      expect(await stage.isReplaced('socket-proxy')).toBe(false);
      expect(await stage.harm()).toEqual([]);
      // The engine's own socket needs no proxy.
      const direct = await stage.update();
      expect(direct.outcomes['socket-proxy']).toBe('updated');
    },
  );

  test('failure 42: the proxy whose name Upkeep reaches over a shared network is left alone, and keeps its name', async () => {
    const registry = await lab.startRegistry({ address: '198.18.0.1' });
    const engine = await lab.startEngine({ name: 'ownway', args: ['--insecure-registry', '198.18.0.0/16'] });
    onTestFinished(async () => {
      await engine.remove();
      await registry.remove();
    });
    const HostConfig = { Binds: [...nodeMounts, `${engine.socket}:/var/run/docker.sock`] };
    const stage = await setRealStage(
      { engine, registry },
      {
        'socket-proxy': {
          old: socketProxyImage('v1'),
          next: socketProxyImage('v2'),
          config: { StopTimeout: 1, HostConfig },
        },
        web: {},
      },
    );
    await engine.call('POST', '/networks/create', { Name: 'control' });
    await engine.call('POST', '/networks/control/connect', { Container: 'socket-proxy' });
    await pushImage(registry, 'failures/upkeep', 'stable', upkeepImage('v1'));
    await engine.pull(`${registry.host}/failures/upkeep:stable`);
    await engine.run('upkeep', `${registry.host}/failures/upkeep:stable`, {
      Cmd: ['update', '--json', '--health-window', '500ms'],
      Env: ['PATH=/usr/bin:/bin', 'DOCKER_HOST=tcp://socket-proxy:2375'],
      HostConfig: { NetworkMode: 'control', Binds: nodeMounts },
    });
    const { State } = await engine.waitFor('upkeep', ({ State: { Status } }) => Status === 'exited', 60_000);
    const log = await logOf(engine, 'upkeep');
    expect(State.ExitCode, log).toBe(0);
    expect(log).toContain('It carries the connection of Upkeep to the engine, which only the running service replaces');
    expect(await stage.isReplaced('socket-proxy')).toBe(false);
    expect(await stage.isReplaced('web')).toBe(true);
  });

  test.each([
    [
      'published ports',
      { port: '12391', TARGET: 'host.docker.internal:12392' },
      { port: '12390', TARGET: 'host.docker.internal:12391' },
    ],
    [
      'the network of the host',
      { LISTEN: 12391, TARGET: '127.0.0.1:12392' },
      { LISTEN: 12390, TARGET: '127.0.0.1:12391' },
    ],
  ])(
    'failure 42: what leads to another engine of the fleet by %s is left alone, one behind another',
    async (_, gate, front) => {
      const far = await lab.startEngine({ name: 'farther' });
      const server = createServer((client) => {
        const engine = connect(far.socket);
        for (const one of [client, engine]) one.on('error', () => one.destroy());
        client.pipe(engine).pipe(client);
      });
      await once(server.listen(12392, '0.0.0.0'), 'listening');
      onTestFinished(async () => {
        server.close();
        await far.remove();
      });
      const passes = ({ TARGET, LISTEN = 2375, port = '' }: { TARGET: string; LISTEN?: number; port?: string }) => ({
        old: socketProxyImage('v1'),
        next: socketProxyImage('v2'),
        config: {
          StopTimeout: 1,
          Env: ['PATH=/usr/bin:/bin', `TARGET=${TARGET}`, `LISTEN=${LISTEN}`],
          HostConfig: {
            Binds: nodeMounts,
            ...(port === ''
              ? { NetworkMode: 'host' }
              : {
                  ExtraHosts: ['host.docker.internal:host-gateway'],
                  PortBindings: { '2375/tcp': [{ HostIp: '', HostPort: port }] },
                }),
          },
        },
      });
      const stage = await setRealStage(lab, {
        'ssh-gate': passes(gate),
        front: passes(front),
        client: passes({ LISTEN: 12399, TARGET: '127.0.0.1:12398' }),
        web: {},
      });
      const hosts = ['--host', `near=unix://${lab.engine.socket}`, '--host', 'far=tcp://127.0.0.1:12390'];
      const { code, stdout, stderr } = await runUpkeep(['update', '--json', '--health-window', '500ms', ...hosts]);
      expect(code, stdout + stderr).toBe(0);
      const { containers } = JSON.parse(stdout) as { containers: { name: string; outcome: string; reason: string }[] };
      expect(Object.fromEntries(containers.map((one) => [one.name, one.outcome])), stdout + stderr).toEqual({
        'ssh-gate': 'skipped',
        front: 'skipped',
        client: 'updated',
        web: 'updated',
      });
      const why = 'carries the connection of Upkeep to the engine "far"';
      for (const { outcome, reason } of containers)
        expect([outcome, reason.includes(why)]).toEqual([outcome, outcome === 'skipped']);
      for (const name of ['ssh-gate', 'front']) expect([name, await stage.isReplaced(name)]).toEqual([name, false]);
      expect(await stage.harm()).toEqual([]);
    },
  );

  test.each([
    ['at the stop', '/stop'],
    ['at the start', '/start'],
    ['at the rename', '/rename'],
  ])(
    'failure 43: the way to the engine ends %s of a container: SIGTERM is obeyed, and the next start repairs',
    async (_, path) => {
      const stage = await setRealStage(lab, { web: {}, other: {} });
      let lostAtMs = 0;
      const { code, outcomes, stderr } = await stage.update({
        args: ['web'],
        arm: (proxy, child) =>
          proxy.arm({
            at: (call) => call.change !== undefined && call.path.includes(path),
            fault: {
              kind: 'kill',
              when: 'after',
              kill: () => {
                void proxy.close();
                lostAtMs = performance.now();
                child.kill('SIGTERM');
              },
            },
          }),
      });
      expect(code, stderr).toBe(143);
      expect(performance.now() - lostAtMs).toBeLessThan(30_000);
      expect(outcomes).toEqual({ web: 'failed' });
      const next = await stage.startAgain();
      expect(await stage.harm(), next.stderr).toEqual([]);
    },
  );

  const six = ['aa', 'bb', 'cc', 'dd', 'ee', 'ff'];

  /** Six stale containers whose images come through a stale container that needs three seconds to start. */
  async function setBehindRegistry(name: string, HostConfig: object) {
    const { engine, registry } = lab;
    await engine.clear();
    const images: (readonly [string, string])[] = [];
    const add = async (container: string, host: string, spec: ImageSpec, config: object) => {
      await pushImage(registry, `failures/behind-${container}`, 'stable', spec);
      const image = `${host}/failures/behind-${container}:stable`;
      await engine.pull(image);
      images.push([container, await engine.run(container, image, { StopTimeout: 1, ...config })]);
    };
    const port = registry.host.split(':')[1]!;
    const Env = ['PATH=/usr/bin:/bin', 'LISTEN=15000', `TARGET=${port}`, 'DELAY_MS=3000'];
    await add(name, registry.host, socketProxyImage('v1'), { Env, HostConfig: { Binds: nodeMounts, ...HostConfig } });
    await until(() => answers(15000));
    for (const each of six) await add(each, '127.0.0.1:15000', catalogue['plain-v1'], {});
    for (const each of six) await pushImage(registry, `failures/behind-${each}`, 'stable', catalogue['plain-v2']);
    await pushImage(registry, `failures/behind-${name}`, 'stable', socketProxyImage('v2'));
    return images;
  }

  test.each(['aa-registry', 'zz-registry'])(
    'failure 44: the registry %s is a container of the same engine: all images are pulled before the first stop',
    async (name) => {
      await setBehindRegistry(name, { NetworkMode: 'host' });
      const proxy = await createFaultProxy({
        listen: { socketPath: `${lab.dir}/ahead.sock` },
        upstream: { socketPath: lab.engine.socket },
      });
      onTestFinished(() => proxy.close());
      const { code, stdout, stderr } = await runUpkeep(['update', '--json', '--health-window', '500ms'], {
        socket: `${lab.dir}/ahead.sock`,
      });
      expect(code, stderr).toBe(0);
      const { containers } = JSON.parse(stdout) as { containers: { name: string; outcome: string }[] };
      expect(Object.fromEntries(containers.map((one) => [one.name, one.outcome]))).toEqual(
        Object.fromEntries([...six, name].map((each) => [each, 'updated'])),
      );
      const changes = proxy.calls.flatMap(({ change, path }) => (change === undefined ? [] : [path]));
      const firstStop = changes.findIndex((path) => path.includes('/stop'));
      const lastPull = changes.findLastIndex((path) => path.includes('/images/create'));
      expect(lastPull).toBeLessThan(firstStop);
    },
  );

  /** Answers each name with the address of the lab's second registry, after three seconds. */
  function dnsServer(version: string): ImageSpec {
    const program = `const server = require('dgram').createSocket('udp4');
      server.on('message', (query, { port, address }) => {
        const end = query.indexOf(0, 12) + 5;
        const isA = query.readUInt16BE(end - 4) === 1;
        const head = Buffer.from(query.subarray(0, 12));
        head.writeUInt16BE(0x8180, 2);
        head.writeUInt16BE(isA ? 1 : 0, 6);
        head.writeUInt32BE(0, 8);
        const answer = Buffer.from('c00c00010001000000000004c6120001', 'hex');
        server.send(Buffer.concat([head, query.subarray(12, end), ...(isA ? [answer] : [])]), port, address);
      });
      process.on('SIGTERM', () => process.exit(0));
      setTimeout(() => server.bind(53), 3000);`;
    const Entrypoint = ['/usr/bin/node', '-e', program];
    return { config: { Entrypoint, Env: [`APP_VERSION=${version}`], ExposedPorts: { '53/udp': {} } } };
  }

  const onHost = { NetworkMode: 'host' };
  const publishedDns = { PortBindings: { '53/udp': [{ HostIp: '', HostPort: '53' }] } };
  test.each([
    ['aa-pihole', 'in the network of the host', onHost],
    ['zz-adguard', 'in the network of the host', onHost],
    ['aa-unbound', 'with a published port', publishedDns],
    ['zz-blocky', 'with a published port', publishedDns],
  ])(
    'failure 44: the DNS of the engine is the container %s of it, %s: the others have their images before',
    async (name, _, network) => {
      const registry = await lab.startRegistry({ address: '198.18.0.1' });
      const host = `images.home.test:${registry.host.split(':')[1]}`;
      const engine = await lab.startEngine({
        name: 'named',
        args: ['--insecure-registry', host, '--insecure-registry', '198.18.0.0/16'],
      });
      onTestFinished(async () => {
        await engine.remove();
        await registry.remove();
      });
      const ids = new Map<string, string>();
      const start = async (container: string, at: string, spec: ImageSpec, config: object) => {
        await pushImage(registry, `failures/${container}`, 'stable', spec);
        await engine.pull(`${at}/failures/${container}:stable`);
        ids.set(
          container,
          await engine.run(container, `${at}/failures/${container}:stable`, { StopTimeout: 1, ...config }),
        );
      };
      await start(name, registry.host, dnsServer('v1'), { HostConfig: { Binds: nodeMounts, ...network } });
      await until(() =>
        lookup('images.home.test').then(
          () => true,
          () => false,
        ),
      );
      for (const each of six) await start(each, host, catalogue['plain-v1'], {});
      for (const each of six) await pushImage(registry, `failures/${each}`, 'stable', catalogue['plain-v2']);
      await pushImage(registry, `failures/${name}`, 'stable', dnsServer('v2'));
      const { code, stdout, stderr } = await runUpkeep(
        ['update', '--json', '--health-window', '500ms', '--rolling-restart'],
        {
          socket: engine.socket,
        },
      );
      expect(code, stdout + stderr).toBe(0);
      const { containers } = JSON.parse(stdout) as { containers: { name: string; outcome: string }[] };
      expect(Object.fromEntries(containers.map((one) => [one.name, one.outcome]))).toEqual(
        Object.fromEntries([...six, name].map((each) => [each, 'updated'])),
      );
      for (const [container, id] of ids) expect((await engine.inspect(container))?.Id).not.toBe(id);
    },
  );

  test.each([
    ['a mirror', 'mirror', {}, 'updated', 1],
    ['a cache whose new version fails', 'cache', { Entrypoint: ['sh', '-c', 'exit 3'] }, 'rolled_back', 0],
  ])(
    'failure 44: the images come through %s: the others are updated, and a pull that failed once is tried again',
    async (_, name, config, outcome, failures) => {
      const { engine } = lab;
      await setBehindRegistry(name, { NetworkMode: 'host' });
      await pushImage(lab.registry, `failures/behind-${name}`, 'stable', socketProxyImage('v2', config));
      const socketPath = `${lab.dir}/again.sock`;
      const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
      onTestFinished(() => proxy.close());
      if (failures > 0)
        proxy.arm({
          at: ({ change, path }) =>
            change !== undefined && path.includes('/images/create') && path.includes('behind-cc'),
          times: failures,
          fault: {
            kind: 'answer',
            when: 'before',
            status: 500,
            body: '{"message":"dial tcp 127.0.0.1:15000: connect: connection refused"}',
          },
        });
      const { stdout, stderr } = await runUpkeep(['update', '--json', '--health-window', '500ms'], {
        socket: socketPath,
      });
      const { containers } = JSON.parse(stdout) as { containers: { name: string; outcome: string; reason: string }[] };
      expect(Object.fromEntries(containers.map((one) => [one.name, one.outcome])), stdout + stderr).toEqual({
        ...Object.fromEntries(six.map((each) => [each, 'updated'])),
        [name]: outcome,
      });
      for (const each of [...six, name]) expect((await engine.inspect(each))?.State.Running).toBe(true);
    },
  );

  const html = '<html><body><h1>503 Service Unavailable</h1></body></html>';
  test.each([
    ['answers 502', 'stop', { kind: 'answer', when: 'before', status: 502, body: html }],
    ['answers 503', 'stop', { kind: 'answer', when: 'before', status: 503, body: html }],
    ['answers 504', 'start', { kind: 'answer', when: 'before', status: 504, body: '' }],
    [
      'answers 503',
      'start',
      { kind: 'answer', when: 'before', status: 503, body: '{"message":"Service Unavailable"}' },
    ],
    ['answers 500', 'stop', { kind: 'answer', when: 'before', status: 500, body: html }],
    ['answers 429', 'start', { kind: 'answer', when: 'before', status: 429, body: 'slow down' }],
    ['is away', 'stop', { kind: 'reset', when: 'before' }],
    ['is away', 'start', { kind: 'reset', when: 'before' }],
  ] as const)(
    'failure 45: the proxy of the socket %s for five seconds after the %s of a container: a good version stays',
    async (_, step, fault) => {
      const stage = await setRealStage(lab, { web: {} });
      let untilMs = 0;
      const { code, outcomes, reasons, stderr } = await stage.update({
        arm: (proxy) => {
          proxy.arm({ at: () => performance.now() < untilMs, times: Infinity, fault });
          proxy.arm({
            at: ({ change, path }) => change !== undefined && path.includes(`/${step}`),
            fault: { kind: 'meanwhile', when: 'after', act: async () => void (untilMs = performance.now() + 5000) },
          });
        },
      });
      expect([code, outcomes, reasons], stderr).toEqual([0, { web: 'updated' }, { web: '' }]);
      expect(await stage.isReplaced('web')).toBe(true);
      expect(await stage.harm()).toEqual([]);
    },
  );

  test.each(['a new socket', 'a new socket, twice'])(
    'failure 46: the engine is upgraded with live-restore, and has %s: Upkeep ends, and its restart policy mounts it',
    async (what) => {
      const { engine, said, watching } = await upgraded((socket) => [`${socket}:/var/run/docker.sock`], 'on-failure');
      for (let times = 1; times <= (what.includes('twice') ? 2 : 1); times += 1) {
        await engine.stop();
        await engine.start();
        await until(() => watching(times + 1));
        expect(await said('The engine has removed its socket')).toBe(times);
      }
      const { State } = (await engine.inspect('upkeep'))!;
      expect(State.Running).toBe(true);
    },
  );

  test.each([
    ['is killed, with a socket that is mounted read-only', 'kill', 'always', 0],
    ['is killed, and is away for ten seconds', 'kill', 'on-failure', 10_000],
    ['is stopped, and is away for ten seconds', 'stop', 'on-failure', 10_000],
    ['is stopped, and is away for ten seconds', 'stop', 'unless-stopped', 10_000],
  ] as const)('failure 46: the same where the engine %s (%s, %s)', async (_, end, Name, awayMs) => {
    const { engine, said, watching } = await upgraded((socket) => [`${socket}:/var/run/docker.sock:ro`], Name);
    await engine[end]();
    await sleep(awayMs);
    await engine.start();
    await until(() => watching(2));
    expect(await said('The engine has removed its socket')).toBe(1);
    expect((await engine.inspect('upkeep'))!.State.Running).toBe(true);
  });

  test.each([
    ['is upgraded', 'stop', 0],
    ['is upgraded, and is away for ten seconds', 'stop', 10_000],
    ['is killed', 'kill', 0],
  ] as const)(
    'failure 46: with the folder of the socket mounted, Upkeep goes on as it is where the engine %s',
    async (_, end, awayMs) => {
      const folder = mkdtempSync(`${lab.dir}/run-`);
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const { engine, said } = await upgraded(() => [`${folder}:/host/run:ro`], 'unless-stopped', {
        arguments: ['--host', `unix://${folder}/docker.sock`],
        Cmd: ['--interval', '2s', '--health-window', '500ms', '--host', 'unix:///host/run/docker.sock'],
      });
      const image = `${lab.registry.host}/failures/web:stable`;
      await pushImage(lab.registry, 'failures/web', 'stable', catalogue['plain-v1']);
      await engine.pull(image);
      const web = await engine.run('web', image, { StopTimeout: 1 });
      const before = (await engine.inspect('upkeep'))!;
      await engine[end]();
      await sleep(awayMs);
      await engine.start();
      await pushImage(lab.registry, 'failures/web', 'stable', catalogue['plain-v2']);
      await until(async () => !['', undefined, web].includes((await engine.inspect('web'))?.Id));
      const after = (await engine.inspect('upkeep'))!;
      expect([after.Id, after.State.StartedAt]).toEqual([before.Id, before.State.StartedAt]);
      expect(await said('The engine has removed its socket')).toBe(0);
    },
  );

  /** Upkeep on an engine of its own with live-restore, which it watches. */
  async function upgraded(
    binds: (socket: string) => readonly string[],
    Name: string,
    more: { readonly arguments: readonly string[]; readonly Cmd: readonly string[] } = {
      arguments: [],
      Cmd: ['--interval', '1h'],
    },
  ) {
    const engine = await lab.startEngine({ name: 'upgraded', args: ['--live-restore', ...more.arguments] });
    onTestFinished(() => engine.remove());
    const image = `${lab.registry.host}/failures/upkeep:stable`;
    await pushImage(lab.registry, 'failures/upkeep', 'stable', upkeepImage('v1'));
    await engine.pull(image);
    await engine.run('upkeep', image, {
      Cmd: ['run', '--log-format', 'logfmt', ...more.Cmd],
      HostConfig: {
        NetworkMode: 'host',
        Binds: [...nodeMounts, ...binds(engine.socket)],
        RestartPolicy: { Name, MaximumRetryCount: 0 },
      },
    });
    const said = async (line: string) => (await logOf(engine, 'upkeep')).split(line).length - 1;
    const watching = async (times: number) => (await said(' with Docker ')) >= times;
    await until(() => watching(1));
    return { engine, said, watching };
  }

  test('set-up ready, and not updated: the log of a service says why, each reason once', async () => {
    const { engine, registry } = lab;
    const stage = await setRealStage(lab, {
      paused: {},
      'removed-at-its-end': { config: { StopTimeout: 1, HostConfig: { AutoRemove: true } } },
      watched: of({ 'upkeep.monitor-only': 'true' }),
      young: {
        next: { ...catalogue['plain-v2'], created: new Date(Date.now() - 3_590_000).toISOString() },
        ...of({ 'upkeep.cooldown-delay': '7d' }),
      },
      misspelt: of({ 'upkeep.policy': 'majorr' }),
      web: {},
    });
    await engine.call('POST', '/containers/paused/pause');
    onTestFinished(async () => void (await engine.call('POST', '/containers/paused/unpause')));
    const image = `${registry.host}/failures/upkeep:stable`;
    await pushImage(registry, 'failures/upkeep', 'stable', upkeepImage('v1'));
    await engine.pull(image);
    await pushImage(registry, 'failures/upkeep', 'stable', upkeepImage('v2'));
    await engine.run('upkeep', image, {
      Cmd: ['run', '--interval', '2s', '--health-window', '500ms', '--log-format', 'logfmt'],
      HostConfig: {
        NetworkMode: 'host',
        PidMode: 'host',
        Binds: [...nodeMounts, `${engine.socket}:/var/run/docker.sock`],
      },
    });
    const linesOf = async (pattern: RegExp) =>
      (await logOf(engine, 'upkeep')).split('\n').filter((line) => pattern.test(line));
    const why = (name: string) =>
      linesOf(new RegExp(`event=(?:container_checked|update_skipped) .*container=${name} `));
    const runs = async (count: number) => {
      const since = (await linesOf(/event=scan_completed/)).length;
      await until(async () => (await linesOf(/event=scan_completed/)).length >= since + count);
    };
    await runs(3);
    const reasons = {
      paused: 'is paused',
      'removed-at-its-end': '--rm',
      watched: 'monitored only',
      young: 'too young',
      misspelt: 'Cannot read the label policy',
      upkeep: 'which is not the main process of the container',
    };
    for (const [name, reason] of Object.entries(reasons))
      expect([name, await why(name)]).toEqual([name, [expect.stringContaining(reason)]]);
    expect(await stage.isReplaced('web')).toBe(true);

    // The reason ends, and comes back.
    await engine.call('POST', '/containers/paused/unpause');
    await until(async () => (await linesOf(/"paused: .*event=update_completed/)).length > 0);
    await engine.call('POST', '/containers/paused/pause');
    await pushImage(registry, 'failures/paused', 'stable', catalogue['plain-v1']);
    await runs(3);
    expect((await why('paused')).filter((line) => line.includes('is paused'))).toHaveLength(2);
    expect(await why('watched')).toHaveLength(1);
  });

  test('failure 41: one that shares the network of another container holds that one too', async () => {
    const NetworkMode = 'container:vpn';
    const stage = await setRealStage(lab, {
      vpn: {},
      'shop-app-run-1': {
        config: { StopTimeout: 1, HostConfig: { NetworkMode }, Labels: { 'com.docker.compose.oneoff': 'true' } },
      },
    });
    const { code, outcomes, reasons, changes } = await stage.update();
    expect(code).toBe(0);
    expect(outcomes).toEqual({ vpn: 'skipped' });
    expect(reasons['vpn']).toContain('"shop-app-run-1" is a single command (docker compose run)');
    expect(changes).toEqual([]);
    expect(await stage.harm()).toEqual([]);
  });
});
