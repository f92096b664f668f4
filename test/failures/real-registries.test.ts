import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { fillDisk } from '../lab/fill-disk.ts';
import type { EngineOptions, LabEngine } from '../lab/engine/engine.ts';
import { createFaultProxy } from '../lab/proxy/fault-proxy.ts';
import { httpRequest } from '../lab/http.ts';
import { type IndexSpec, pushImage, pushIndex } from '../lab/registry/push.ts';
import { type Front, type FrontCall, type Said, startFront } from '../lab/registry/registry-front.ts';
import type { LabRegistry } from '../lab/registry/registry.ts';
import { createRequestLimit } from '../lab/registry/request-limit.ts';
import { users } from '../lab/registry/token-server.ts';
import { dockerConfigFolder, loginEntry, upkeepScene } from '../support/scene/upkeep-scene.ts';

/** Failures of a real registry, with a real engine that pulls. */
describeInLab('a registry', (lab) => {
  const closing: (() => Promise<unknown> | void)[] = [];
  afterEach(async () => {
    await lab.engine.clear();
    for (const close of closing.splice(0).toReversed()) await close();
  });

  async function engineOf(options: EngineOptions): Promise<LabEngine> {
    const engine = await lab.startEngine(options);
    closing.push(engine.remove);
    return engine;
  }

  type Place = {
    readonly registry: LabRegistry;
    readonly front: Front;
    /** Of a repository, with the tag `stable`. */
    readonly image: (repository: string) => string;
    /** Sets the answer of the front from now on. */
    readonly say: (says: (call: FrontCall) => Said) => void;
    /** Requests of the engine since the start, which pulls. */
    readonly pulls: () => number;
    readonly push: typeof push;
  };

  /** A registry behind a front that counts requests, and may change answers. */
  async function place(options: { readonly name?: string } = {}): Promise<Place> {
    const registry = await lab.startRegistry({});
    closing.push(registry.remove);
    let says: (call: FrontCall) => Said = () => ({});
    const front = await startFront({
      upstreams: {},
      otherwise: registry.url,
      says: (call) => says(call),
      ...(options.name === undefined ? {} : { tls: lab.pki, port: 443 }),
    });
    closing.push(front.close);
    return {
      registry,
      front,
      image: (repository) => `${options.name ?? `127.0.0.1:${front.port}`}/${repository}:stable`,
      say: (other) => (says = other),
      pulls: () => front.calls.filter(({ agent }) => agent.startsWith('docker/')).length,
      push,
    };
  }

  const push = (registry: LabRegistry, repository: string, version: 'plain-v1' | 'plain-v2') =>
    pushImage(registry, repository, 'stable', catalogue[version]);

  /** A container that runs the first version, while the tag is at the second. */
  async function stale({ registry, image }: Place, name: string, engine = lab.engine): Promise<Made> {
    await push(registry, `rows/${name}`, 'plain-v1');
    await engine.pull(image(`rows/${name}`));
    const id = await engine.run(name, image(`rows/${name}`), { StopTimeout: 1 });
    return { id, next: (await push(registry, `rows/${name}`, 'plain-v2')).configDigest };
  }
  type Made = { readonly id: string; readonly next: string };

  const upkeep = upkeepScene({ socket: lab.engine.socket });

  test('failure 3: the old image is gone from the engine: what is fresh is not pulled, what is stale is said to be, and why it stays', async () => {
    const at = await place();
    await push(at.registry, 'rows/web', 'plain-v1');
    await lab.engine.pull(at.image('rows/web'));
    const id = await lab.engine.create('web', at.image('rows/web'));
    const removed = await lab.engine.call('DELETE', `/images/${encodeURIComponent(at.image('rows/web'))}?force=1`);
    expect(removed.status).toBe(200);
    expect((await lab.engine.call('GET', '/images/json?all=1')).body).toEqual([]);
    const pulls = at.pulls();
    const { web } = await upkeep.check('--include-stopped');
    expect(web).toMatchObject({ status: 'fresh', update_available: false });
    expect((await upkeep.update('--include-stopped')).outcomes['web']?.outcome).toBe('fresh');
    expect(at.pulls()).toBe(pulls);
    await push(at.registry, 'rows/web', 'plain-v2');
    expect((await upkeep.check('--include-stopped'))['web']?.status).toBe('held');
    const { outcomes } = await upkeep.update('--include-stopped');
    expect(outcomes['web']).toMatchObject({
      outcome: 'skipped',
      reason: expect.stringContaining('an image that is gone from the engine'),
    });
    expect((await lab.engine.inspect('web'))?.Id).toBe(id);
    expect(at.pulls()).toBe(pulls);
  });

  test.each<[string, (at: Place) => Promise<unknown> | void, RegExp]>([
    ['does not answer', ({ front }) => front.close(), /the connection was refused/],
    ['is in trouble', ({ say }) => say(() => ({ refusal: { status: 503, body: 'no' } })), /answered with status 503/],
    [
      'is something else',
      ({ say }) => say(() => ({ refusal: { status: 200, body: '<html>' } })),
      /sent an invalid answer|is not|no image/,
    ],
  ])(
    'failure 4: it %s: its containers are unknown and left alone, the engine is not sent there',
    async (_, go, why) => {
      const [at, healthy] = [await place(), await place()];
      const web = await stale(at, 'web');
      const other = await stale(healthy, 'other');
      await go(at);
      const pulls = at.pulls();
      const checked = await upkeep.check();
      expect(checked['web']).toMatchObject({ status: 'unknown', update_available: false });
      expect(checked['web']?.error).toMatch(why);
      expect(checked['other']?.status).toBe('stale');
      const { outcomes } = await upkeep.update();
      expect(outcomes['web']?.outcome).toBe('unknown');
      expect(outcomes['other']?.outcome).toBe('updated');
      expect(at.pulls()).toBe(pulls);
      expect((await lab.engine.inspect('web'))?.Id).toBe(web.id);
      expect((await lab.engine.inspect('other'))?.Image).toBe(other.next);
    },
  );

  test('failure 4: its name leads nowhere: that is said', async () => {
    const at = await place();
    const { id } = await stale(at, 'web');
    const tag = `/images/${encodeURIComponent(at.image('rows/web'))}/tag?repo=gone.test/rows/lost&tag=stable`;
    expect((await lab.engine.call('POST', tag)).status).toBe(201);
    await lab.engine.run('lost', 'gone.test/rows/lost:stable', { StopTimeout: 1 });
    const { web, lost } = await upkeep.check();
    expect(lost?.status).toBe('unknown');
    expect(lost?.error).toMatch(
      /Cannot check "gone\.test\/rows\/lost:stable".*(?:no host of that name|could not be looked up)/,
    );
    expect(web?.status).toBe('stale');
    expect((await lab.engine.inspect('web'))?.Id).toBe(id);
  });

  test.each<[string, (at: Place, digest: string) => Promise<unknown> | void, RegExp]>([
    [
      'the tag is deleted',
      ({ registry }, digest) =>
        httpRequest({ method: 'DELETE', url: `${registry.url}/v2/rows/web/manifests/${digest}` }),
      /it has no such tag/,
    ],
    [
      'access is denied',
      ({ say }) =>
        say(() => ({ refusal: { status: 401, body: '{"errors":[{"code":"UNAUTHORIZED","message":"no"}]}' } })),
      /access is denied, or there is no such repository \(no\); there is no login for it\. Run "docker login/,
    ],
    [
      'access is forbidden',
      ({ say }) =>
        say(() => ({ refusal: { status: 403, body: '{"errors":[{"code":"DENIED","message":"paid plan"}]}' } })),
      /access is denied.*\(paid plan\)/,
    ],
  ])('failure 5: %s: it is unknown and said why, never fresh', async (_, go, why) => {
    const at = await place();
    const { digest } = await push(at.registry, 'rows/web', 'plain-v1');
    await lab.engine.pull(at.image('rows/web'));
    const id = await lab.engine.run('web', at.image('rows/web'), { StopTimeout: 1 });
    expect((await upkeep.check())['web']?.status).toBe('fresh');
    const pulls = at.pulls();
    await go(at, digest);
    const { web } = await upkeep.check();
    expect(web).toMatchObject({ status: 'unknown', update_available: false, error: expect.stringMatching(why) });
    const { outcomes } = await upkeep.update();
    expect(outcomes['web']).toMatchObject({ outcome: 'unknown', reason: expect.stringMatching(why) });
    expect(at.pulls()).toBe(pulls);
    expect((await lab.engine.inspect('web'))?.Id).toBe(id);
  });

  test('failure 6: it sends us away: one request learns it for all containers, and each says how long', async () => {
    const at = await place({ name: 'ghcr.io' });
    const names = Array.from({ length: 12 }, (_, i) => `web${i}`);
    for (const name of names) {
      await push(at.registry, `rows/${name}`, 'plain-v1');
      await lab.engine.pull(at.image(`rows/${name}`));
      await lab.engine.create(name, at.image(`rows/${name}`));
    }
    const { says, windows } = createRequestLimit({ limit: 0, windowMs: 600_000, counts: () => true });
    at.say(says);
    const { outcomes } = await upkeep.update('--include-stopped', '--registry-ca', lab.pki.caFile);
    for (const name of names) {
      expect(outcomes[name]?.outcome).toBe('unknown');
      expect(outcomes[name]?.reason).toMatch(/may be asked again in (?:10m|9m\d+s)\./);
    }
    expect(windows).toEqual([{ asked: 1, refused: 1 }]);
  });

  test('failure 7: the pull breaks off: it has failed, nothing is touched, and the next run succeeds', async () => {
    const at = await place();
    const { hostname, port } = new URL(at.registry.url);
    const proxy = await createFaultProxy({ listen: { port: 0 }, upstream: { host: hostname, port: Number(port) } });
    closing.push(proxy.close);
    const engine = await engineOf({ name: 'broken', args: ['--max-download-attempts', '1'] });
    const through = { ...at, image: (repository: string) => `127.0.0.1:${proxy.port}/${repository}:stable` };
    const { id, next } = await stale(through, 'web', engine);
    const isLayer = ({ path }: { readonly path: string }) => path.includes('/blobs/') && !path.endsWith(next);
    proxy.arm({ at: isLayer, times: 100, fault: { kind: 'cut', bytes: 20 } });
    const scene = upkeepScene({ socket: engine.socket });
    const broken = await scene.update();
    expect(broken.run.code).toBe(1);
    expect(broken.outcomes['web']).toMatchObject({
      outcome: 'failed',
      reason: expect.stringMatching(/^Cannot pull "127\.0\.0\.1:\d+\/rows\/web@sha256:.*unexpected EOF/),
    });
    proxy.disarm();
    expect(await engine.inspect('web')).toMatchObject({ Id: id, State: { Running: true } });
    expect((await scene.update()).outcomes['web']?.outcome).toBe('updated');
    expect((await engine.inspect('web'))?.Image).toBe(next);
  });

  test('failure 7: the disk is full at the pull: it has failed, nothing is touched, and the next run succeeds', async () => {
    const at = await place();
    const data = join(lab.dir, 'fullpull', 'data');
    mkdirSync(data, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'tmpfs', data]);
    const engine = await engineOf({ name: 'fullpull' });
    const { id, next } = await stale(at, 'web', engine);
    const filler = fillDisk(data);
    const scene = upkeepScene({ socket: engine.socket });
    const { run, outcomes } = await scene.update();
    expect(run.code).toBe(1);
    expect(outcomes['web']).toMatchObject({
      outcome: 'failed',
      reason: expect.stringMatching(/no space left.*Free space/),
    });
    rmSync(filler);
    expect(await engine.inspect('web')).toMatchObject({ Id: id, State: { Running: true } });
    expect((await scene.update()).outcomes['web']?.outcome).toBe('updated');
    expect((await engine.inspect('web'))?.Image).toBe(next);
  });

  describe.each<[string, 'docker' | 'oci', IndexSpec]>([
    ['a Docker manifest list', 'docker', {}],
    ['an OCI index with attestations', 'oci', { attestations: true }],
  ])('of an image that is %s', (_, format, index) => {
    test('pitfall 1: what runs its newest is fresh, without a pull, and what is stale is updated once', async () => {
      const at = await place();
      const pushed = (version: 'plain-v1' | 'plain-v2') =>
        pushIndex(at.registry, 'rows/web', 'stable', { ...catalogue[version], format }, index);
      await pushed('plain-v1');
      await lab.engine.pull(at.image('rows/web'));
      await lab.engine.run('web', at.image('rows/web'), { StopTimeout: 1 });
      const pulls = at.pulls();
      expect((await upkeep.check())['web']).toMatchObject({ status: 'fresh', update_available: false });
      expect((await upkeep.update()).outcomes['web']?.outcome).toBe('fresh');
      expect(at.pulls()).toBe(pulls);
      const { configDigest } = await pushed('plain-v2');
      expect((await upkeep.update()).outcomes['web']?.outcome).toBe('updated');
      expect((await lab.engine.inspect('web'))?.Image).toBe(configDigest);
      expect((await upkeep.update()).outcomes['web']?.outcome).toBe('fresh');
    });
  });

  test('pitfall 7: a mirror of Docker Hub stands in for no other registry, and sees no login of one', async () => {
    const [at, mirror] = [await place(), await place()];
    const engine = await engineOf({ name: 'mirrored', hubMirror: `http://127.0.0.1:${mirror.front.port}` });
    await push(at.registry, 'library/web', 'plain-v1');
    await push(mirror.registry, 'library/web', 'plain-v2');
    await engine.pull(at.image('library/web'));
    await engine.run('web', at.image('library/web'), { StopTimeout: 1 });
    const host = `127.0.0.1:${at.front.port}`;
    const login = loginEntry('reader', users['reader'] ?? '');
    const auths = { [host]: login, 'https://index.docker.io/v1/': login };
    const scene = upkeepScene({
      socket: engine.socket,
      env: { DOCKER_CONFIG: dockerConfigFolder(lab.dir, { auths }) },
    });
    expect((await scene.check())['web']?.status).toBe('fresh');
    expect(mirror.front.calls).toEqual([]);
    await engine.pull('web:stable');
    await engine.run('hub', 'web:stable', { StopTimeout: 1 });
    mirror.say(() => ({
      refusal: { status: 401, body: '{}' },
      headers: { 'www-authenticate': 'Basic realm="mirror"' },
    }));
    const pulled = mirror.front.calls.length;
    expect((await scene.check('hub'))['hub']?.status).toBe('unknown');
    const asked = mirror.front.calls.slice(pulled);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.map(({ authorization }) => authorization)).toEqual(asked.map(() => undefined));
  });

  test('pitfall 9: a login that has expired between two runs is unknown with what to do, for as long as it takes', async () => {
    const registry = await lab.startRegistry({ auth: 'basic' });
    closing.push(registry.remove);
    const image = `${registry.host}/rows/web:stable`;
    await pushImage(registry, 'rows/web', 'stable', catalogue['plain-v1']);
    await lab.engine.pull(image, { username: 'reader', password: users['reader'] ?? '' });
    const id = await lab.engine.run('web', image, { StopTimeout: 1 });
    const DOCKER_CONFIG = dockerConfigFolder(lab.dir, {});
    const scene = upkeepScene({ socket: lab.engine.socket, env: { DOCKER_CONFIG } });
    const use = (password: string) =>
      writeFileSync(
        join(DOCKER_CONFIG, 'config.json'),
        JSON.stringify({ auths: { [registry.host]: loginEntry('reader', password) } }),
      );
    use(users['reader'] ?? '');
    expect((await scene.update()).outcomes['web']?.outcome).toBe('fresh');
    use('expired');
    for (let run = 0; run < 2; run += 1) {
      const { outcomes } = await scene.update();
      expect(outcomes['web']).toMatchObject({
        outcome: 'unknown',
        reason: expect.stringContaining('does not give access. Run "docker login'),
      });
    }
    expect((await lab.engine.inspect('web'))?.Id).toBe(id);
  });

  test.each<[string, (call: FrontCall) => Said]>([
    ['with 200 and no digest', ({ method }) => (method === 'HEAD' ? { headers: { 'docker-content-digest': '' } } : {})],
    ['with 401', ({ method }) => (method === 'HEAD' ? { refusal: { status: 401, body: '' } } : {})],
    ['with 405', ({ method }) => (method === 'HEAD' ? { refusal: { status: 405, body: '' } } : {})],
  ])('pitfall 24: a HEAD is answered %s: a GET tells, and what is fresh is not pulled', async (_, says) => {
    const at = await place();
    await push(at.registry, 'rows/web', 'plain-v1');
    await lab.engine.pull(at.image('rows/web'));
    await lab.engine.run('web', at.image('rows/web'), { StopTimeout: 1 });
    at.say((call) => (call.agent.startsWith('docker/') ? {} : says(call)));
    const pulls = at.pulls();
    expect((await upkeep.check())['web']).toMatchObject({ status: 'fresh', update_available: false });
    expect((await upkeep.update()).outcomes['web']?.outcome).toBe('fresh');
    expect(at.pulls()).toBe(pulls);
    const { configDigest } = await push(at.registry, 'rows/web', 'plain-v2');
    expect((await upkeep.update()).outcomes['web']?.outcome).toBe('updated');
    expect((await lab.engine.inspect('web'))?.Image).toBe(configDigest);
  });
});
