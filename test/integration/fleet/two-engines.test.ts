import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { LabEngine } from '../../lab/engine/engine.ts';
import type { EngineClient } from '../../lab/engine/engine-client.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { runUpkeep, startUpkeep } from '../../support/scene/run-upkeep.ts';

type Entry = {
  readonly name: string;
  readonly engine: string;
  readonly status?: string;
  readonly outcome?: string;
  readonly reason: string;
  readonly new_digest?: string;
  readonly compose?: { readonly state: string };
};

type Document = {
  readonly containers: readonly Entry[];
  readonly engines?: readonly { readonly name: string; readonly result: string; readonly error?: string }[];
};

/** Two engines in one process. */
describeInLab('two engines', (lab) => {
  const { registry } = lab;
  const image = `${registry.host}/fleet/app:1`;
  let far: LabEngine;
  beforeAll(async () => {
    far = await lab.startEngine({ name: 'far' });
  });
  afterAll(() => far.remove());
  afterEach(async () => {
    await lab.engine.clear();
    await far.clear();
  });

  const hosts = () => ['--host', `near=unix://${lab.engine.socket}`, '--host', `far=unix://${far.socket}`];

  async function upkeep(...args: readonly string[]) {
    const { code, stdout, stderr } = await runUpkeep([...args, ...hosts()]);
    return { code, stdout, stderr, document: () => JSON.parse(stdout) as Document };
  }

  /** The same container names on both. */
  async function runBoth(): Promise<void> {
    await pushImage(registry, 'fleet/app', '1', catalogue['plain-v1']);
    for (const engine of [lab.engine, far] satisfies EngineClient[]) {
      await engine.pull(image);
      await engine.run('web', image, { StopTimeout: 1, HostConfig: { RestartPolicy: { Name: 'always' } } });
    }
  }

  test('are checked, updated and listed as one, and the same name on both is two containers', async () => {
    await runBoth();
    const { digest } = await pushImage(registry, 'fleet/app', '1', catalogue['plain-v2']);

    const check = await upkeep('check', '--json');
    expect(check.code, check.stderr).toBe(0);
    expect(check.document().containers).toMatchObject([
      { engine: 'near', name: 'web', status: 'stale' },
      { engine: 'far', name: 'web', status: 'stale' },
    ]);

    const update = await upkeep('update', '--json', '--health-window', '1s');
    expect(update.code, update.stderr).toBe(0);
    expect(update.document().containers).toMatchObject([
      { engine: 'near', name: 'web', outcome: 'updated', new_digest: digest },
      { engine: 'far', name: 'web', outcome: 'updated', new_digest: digest },
    ]);
    expect(update.document().engines).toMatchObject([
      { name: 'near', result: 'ran' },
      { name: 'far', result: 'ran' },
    ]);

    const listed = await upkeep('containers');
    expect(listed.code, listed.stderr).toBe(0);
    expect(listed.stdout).toContain('near/web');
    expect(listed.stdout).toContain('far/web');
  });

  test('compose files are read for an engine of this machine, and not for one that is reached over the network', async () => {
    const relay = createServer((client) => {
      const engine = connect(far.socket);
      for (const each of [client, engine]) each.on('error', () => (client.destroy(), engine.destroy()));
      client.pipe(engine).pipe(client);
    });
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void relay.close());
    const { port } = relay.address() as AddressInfo;
    const hostsApart = ['--host', `near=unix://${lab.engine.socket}`, '--host', `far=tcp://127.0.0.1:${port}`];
    await pushImage(registry, 'fleet/app', '1.0', catalogue['plain-v1']);
    const stacks = join(lab.dir, 'fleet-stacks');
    mkdirSync(stacks, { recursive: true });
    const file = join(stacks, 'compose.yaml');
    const versioned = `${registry.host}/fleet/app:1.0`;
    writeFileSync(file, `name: shop\nservices:\n  web: {image: "${versioned}", container_name: web}\n`);
    for (const engine of [lab.engine, far] satisfies EngineClient[]) {
      await engine.pull(versioned);
      await engine.run('web', versioned, {
        StopTimeout: 1,
        Labels: {
          'upkeep.policy': 'minor',
          'com.docker.compose.project': 'shop',
          'com.docker.compose.service': 'web',
          'com.docker.compose.project.config_files': file,
          'com.docker.compose.project.working_dir': stacks,
        },
      });
    }
    await pushImage(registry, 'fleet/app', '1.1', catalogue['plain-v2']);
    const compose = ['--compose-files', 'check', '--compose-roots', stacks];
    const check = await runUpkeep(['check', '--json', ...compose, ...hostsApart]);
    const document = JSON.parse(check.stdout) as Document;
    const read = document.containers.map(({ engine, status, compose }) => [engine, status, compose?.state]);
    expect(read, check.stderr).toEqual([
      ['near', 'stale', 'would-write'],
      ['far', 'stale', undefined],
    ]);
    expect(check.stderr).toContain('--compose-files has no effect: the engine is on another machine');
    expect(readFileSync(file, 'utf8')).toContain(':1.0"');
  });

  test('with --engine only the named one is worked on', async () => {
    await runBoth();
    await pushImage(registry, 'fleet/app', '1', catalogue['plain-v2']);

    const update = await upkeep('update', 'web', '--engine', 'far', '--json', '--health-window', '1s');
    expect(update.code, update.stderr).toBe(0);
    expect(update.document().containers).toMatchObject([{ engine: 'far', outcome: 'updated' }]);
    const check = await upkeep('check', '--json');
    expect(check.document().containers.map(({ engine, status }) => [engine, status])).toEqual([
      ['near', 'stale'],
      ['far', 'fresh'],
    ]);
    const back = await upkeep('rollback', 'web', '--json', '--health-window', '1s');
    expect(back.code).toBe(2);
    expect(back.stderr).toContain('Cannot roll back web: several engines have it: near, far');
    const named = await upkeep('rollback', 'web', '--engine', 'far', '--json', '--health-window', '1s');
    expect(named.code, named.stderr).toBe(0);
    expect(named.document().containers).toMatchObject([{ engine: 'far', outcome: 'went_back' }]);
  });

  test('an engine that is away is told of, and keeps nothing from the other', async () => {
    await runBoth();
    await pushImage(registry, 'fleet/app', '1', catalogue['plain-v2']);
    await far.kill();
    try {
      const update = await upkeep('update', '--json', '--health-window', '1s');
      expect(update.code, update.stderr).toBe(1);
      expect(update.document().containers).toMatchObject([{ engine: 'near', outcome: 'updated' }]);
      expect(update.document().engines).toMatchObject([
        { name: 'near', result: 'ran' },
        { name: 'far', result: 'unreachable', error: expect.stringContaining('far/docker.sock') },
      ]);
      const check = await upkeep('check');
      expect(check.code).toBe(1);
      expect(check.stdout).toContain('far: cannot be reached');
    } finally {
      await far.start();
    }
  });

  test('the service tells which engine is away, and works on it again once it is back', async () => {
    await runBoth();
    const api = ['--http-api-endpoints', 'all', '--http-api-token', 'secret', '--http-api-host', '127.0.0.1'];
    const args = ['run', ...api, '--http-api-port', '18787', '--health-window', '1s', ...hosts()];
    const service = startUpkeep(args, { env: { UPKEEP_HTTP_API_EVENTS_TOKEN: 'other' } });
    const ask = async (path: string, method = 'GET') => {
      const reply = await fetch(`http://127.0.0.1:18787${path}`, {
        method,
        headers: { Authorization: 'Bearer secret' },
      });
      return { status: reply.status, text: await reply.text() };
    };
    try {
      await service.seen('listening');
      await expect
        .poll(async () => (await ask('/v1/engines')).text, { timeout: 10_000 })
        .toMatch(/"far".*"reachable":true/);
      await expect
        .poll(async () => (await ask('/v1/containers/details')).text.match(/"started_at"/g)?.length, {
          timeout: 10_000,
        })
        .toBe(2);
      expect((await ask('/v1/check?engine=fat', 'POST')).status).toBe(400);
      await far.kill();
      await service.seen('far cannot be reached');
      expect(JSON.parse((await ask('/readyz')).text)).toMatchObject({ status: 'ok', unreachable: ['far'] });
      expect((await ask('/v1/metrics')).text).toContain('upkeep_engine_up{engine="far"} 0');
      await pushImage(registry, 'fleet/app', '1', catalogue['plain-v2']);
      const first = JSON.parse((await ask('/v1/update', 'POST')).text) as Document;
      expect(first.containers).toMatchObject([
        { engine: 'near', outcome: 'updated' },
        { engine: 'far', outcome: 'unknown' },
      ]);
      await far.start();
      // A request with its name does not wait for the next attempt.
      const second = JSON.parse((await ask('/v1/update?engine=far', 'POST')).text) as Document;
      expect(second.containers).toMatchObject([{ engine: 'far', outcome: 'updated' }]);
      expect((await ask('/v1/containers?engine=far')).text).toContain('"engine":"far"');
    } finally {
      service.child.kill();
      await service.ended;
    }
  });
});
