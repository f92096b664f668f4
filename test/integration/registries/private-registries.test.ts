import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { EngineClient } from '../../lab/engine/engine-client.ts';
import { startFront, type Front } from '../../lab/registry/registry-front.ts';
import { pushImage, type PushTarget } from '../../lab/registry/push.ts';
import type { LabRegistry, RegistryOptions } from '../../lab/registry/registry.ts';
import { createRequestLimit } from '../../lab/registry/request-limit.ts';
import { users } from '../../lab/registry/token-server.ts';
import { credentialHelper, dockerConfigFolder, loginEntry, upkeepScene } from '../../support/scene/upkeep-scene.ts';

const username = 'reader';
const right = users[username] ?? '';
const wrong = 'no-longer-valid';

/** A whole check and a whole update, through the executable and a real engine, at common kinds of registries. */
describeInLab('private registries', (lab) => {
  const closing: (() => Promise<unknown> | void)[] = [];
  afterEach(async () => {
    await lab.engine.clear();
    for (const close of closing.splice(0).toReversed()) await close();
  });

  async function registryOf(options: RegistryOptions): Promise<LabRegistry> {
    const registry = await lab.startRegistry(options);
    closing.push(registry.remove);
    return registry;
  }

  async function frontOf(options: Parameters<typeof startFront>[0]): Promise<Front> {
    const front = await startFront(options);
    closing.push(front.close);
    return front;
  }

  async function engineOf(
    options: Omit<Parameters<typeof lab.startEngine>[0], 'name'>,
  ): ReturnType<typeof lab.startEngine> {
    const engine = await lab.startEngine({ name: `private${closing.length}`, ...options });
    closing.push(engine.remove);
    return engine;
  }

  type Scene = {
    readonly engine: EngineClient & { readonly socket: string };
    /** The registry and repository for the push. */
    readonly target: PushTarget;
    readonly repository: string;
    /** Reference of the containers. */
    readonly image: string;
    /** The key of the login in config.json. */
    readonly key: string;
    readonly args?: readonly string[];
  };

  /** A running container on the first version, with the tag at the second. */
  async function stale({ engine, target, repository, image }: Scene): Promise<{ id: string; next: string }> {
    await pushImage(target, repository, 'stable', catalogue['plain-v1']);
    await engine.pull(image, { username, password: right });
    const id = await engine.run('web', image, { StopTimeout: 1 });
    const next = await pushImage(target, repository, 'stable', catalogue['plain-v2']);
    return { id, next: next.configDigest };
  }

  const withLogin = ({ engine, key, args = [] }: Scene, password: string | undefined) =>
    upkeepScene({
      socket: engine.socket,
      args,
      env:
        password === undefined
          ? {}
          : { DOCKER_CONFIG: dockerConfigFolder(lab.dir, { auths: { [key]: loginEntry(username, password) } }) },
    });

  const scenes: Readonly<Record<string, () => Promise<Scene>>> = {
    'with passwords': async () => {
      const target = await registryOf({ auth: 'basic' });
      const image = `${target.host}/team/app:stable`;
      return { engine: lab.engine, target, repository: 'team/app', image, key: target.host };
    },
    'with a token server': async () => {
      const target = await registryOf({ auth: 'token' });
      const image = `${target.host}/team/app:stable`;
      return { engine: lab.engine, target, repository: 'team/app', image, key: `http://${target.host}` };
    },
    'with a certificate of an own authority that --registry-ca names': async () => {
      const target = await registryOf({ auth: 'basic', tls: true, address: '198.18.0.1' });
      const host = target.host.replace('198.18.0.1', 'secure.test');
      const engine = await engineOf({ env: { SSL_CERT_FILE: lab.pki.caFile } });
      const args = ['--registry-ca', lab.pki.caFile];
      return { engine, target, repository: 'team/app', image: `${host}/team/app:stable`, key: host, args };
    },
    'with a certificate of an own authority where Docker looks for it': async () => {
      const target = await registryOf({ auth: 'basic', tls: true, address: '198.18.0.1' });
      const host = target.host.replace('198.18.0.1', 'secure.test');
      const folder = join('/etc/docker/certs.d', host);
      mkdirSync(folder, { recursive: true });
      closing.push(() => rmSync(folder, { recursive: true }));
      writeFileSync(join(folder, 'ca.crt'), lab.pki.ca);
      const image = `${host}/team/app:stable`;
      return { engine: lab.engine, target, repository: 'team/app', image, key: host };
    },
    'of Docker Hub': async () => {
      const realm = 'https://auth.docker.io/token';
      const target = await registryOf({ auth: 'token', realm });
      const upstreams = { 'registry-1.docker.io': target.url, 'auth.docker.io': target.tokenServer?.url ?? '' };
      await frontOf({ tls: lab.pki, port: 443, upstreams });
      const engine = await engineOf({ env: { SSL_CERT_FILE: lab.pki.caFile } });
      const args = ['--registry-ca', lab.pki.caFile];
      const key = 'https://index.docker.io/v1/';
      return { engine, target, repository: 'acme/app', image: 'acme/app:stable', key, args };
    },
    'of GitHub': async () => {
      const target = await registryOf({ auth: 'token', realm: 'https://ghcr.io/token' });
      const tokens = target.tokenServer?.url ?? '';
      await frontOf({
        tls: lab.pki,
        port: 443,
        upstreams: { 'ghcr.io': target.url },
        says: ({ path }) => (path.startsWith('/token') ? { upstream: tokens } : {}),
      });
      const engine = await engineOf({ env: { SSL_CERT_FILE: lab.pki.caFile } });
      const args = ['--registry-ca', lab.pki.caFile];
      return { engine, target, repository: 'acme/app', image: 'ghcr.io/acme/app:stable', key: 'ghcr.io', args };
    },
  };

  describe.each(Object.keys(scenes))('a registry %s', (name) => {
    test('is asked, and its image pulled, with the login of config.json', async () => {
      const scene = await scenes[name]!();
      const { next } = await stale(scene);
      const upkeep = withLogin(scene, right);
      expect((await upkeep.check())['web']).toMatchObject({ status: 'stale', update_available: true });
      const { run, outcomes } = await upkeep.update();
      expect(outcomes['web'], run.stderr).toMatchObject({ outcome: 'updated' });
      expect((await scene.engine.inspect('web'))?.Image).toBe(next);
      expect((await upkeep.check())['web']).toMatchObject({ status: 'fresh', update_available: false });
    });

    test.each([
      ['that is missing', undefined],
      ['that is refused', wrong],
    ])('says that it denies a login %s, and what to do; nothing is called fresh or touched', async (_, password) => {
      const scene = await scenes[name]!();
      const { id } = await stale(scene);
      const upkeep = withLogin(scene, password);
      const { web } = await upkeep.check();
      expect(web).toMatchObject({ status: 'unknown', update_available: false });
      expect(web?.reason).toContain('The registry refuses access');
      expect(web?.error).toMatch(/[Rr]un "docker login/);
      const { run, outcomes } = await upkeep.update();
      expect(outcomes['web']?.outcome).toBe('unknown');
      expect(outcomes['web']?.reason).toMatch(/[Rr]un "docker login/);
      expect(run.stdout + run.stderr).not.toContain(wrong);
      expect(await scene.engine.inspect('web')).toMatchObject({ Id: id, State: { Running: true } });
    });
  });

  test('set-up logins of Podman: those of auth.json are found in each of its places, the longest key first', async () => {
    const target = await registryOf({ auth: 'basic' });
    const image = `${target.host}/team/app:stable`;
    const auths = {
      [target.host]: loginEntry(username, wrong),
      [`${target.host}/team`]: loginEntry(username, right),
      [`${target.host}/team/ap`]: loginEntry(username, wrong),
    };
    const folderWith = (...path: readonly string[]) => {
      const top = mkdtempSync(join(lab.dir, 'podman-'));
      const file = join(top, ...path, 'auth.json');
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify({ auths }));
      return { top, file };
    };
    const run = `/run/containers/${process.getuid?.() ?? 0}`;
    const places: Readonly<Record<string, () => Readonly<Record<string, string>>>> = {
      REGISTRY_AUTH_FILE: () => ({ REGISTRY_AUTH_FILE: folderWith().file }),
      XDG_RUNTIME_DIR: () => ({ XDG_RUNTIME_DIR: folderWith('containers').top }),
      XDG_CONFIG_HOME: () => ({ XDG_CONFIG_HOME: folderWith('containers').top }),
      HOME: () => ({ HOME: folderWith('.config', 'containers').top }),
      [run]: () => {
        mkdirSync(run, { recursive: true });
        writeFileSync(join(run, 'auth.json'), JSON.stringify({ auths }));
        closing.push(() => rmSync(join(run, 'auth.json')));
        return {};
      },
    };
    await stale({ engine: lab.engine, target, repository: 'team/app', image, key: target.host });
    for (const [place, env] of Object.entries(places)) {
      const upkeep = upkeepScene({ socket: lab.engine.socket, env: env() });
      expect((await upkeep.check())['web']?.status, place).toBe('stale');
    }
    const upkeep = upkeepScene({ socket: lab.engine.socket, env: places['REGISTRY_AUTH_FILE']?.() ?? {} });
    expect((await upkeep.update()).outcomes['web']).toMatchObject({ outcome: 'updated' });
  });

  test('what the engine may not pull has failed, with what to do, also where the engine says that it is not found', async () => {
    const registry = await registryOf({});
    const refusal = { status: 401, body: JSON.stringify({ errors: [{ code: 'DENIED', message: 'access denied' }] }) };
    let isDenied = false;
    const front = await frontOf({
      upstreams: {},
      otherwise: registry.url,
      says: ({ agent }) => (isDenied && agent.startsWith('docker/') ? { refusal } : {}),
    });
    const image = `127.0.0.1:${front.port}/team/app:stable`;
    const scene = { engine: lab.engine, target: registry, repository: 'team/app', image, key: '' };
    const { id } = await stale(scene);
    isDenied = true;
    const answer = await lab.engine.call('POST', `/images/create?fromImage=${encodeURIComponent(image)}`);
    expect(answer).toMatchObject({ status: 404, body: { message: expect.stringContaining('pull access denied') } });
    const upkeep = withLogin(scene, undefined);
    expect((await upkeep.check())['web']?.status).toBe('stale');
    const { run, outcomes } = await upkeep.update();
    expect(run.code).toBe(1);
    expect(outcomes['web']?.outcome).toBe('failed');
    expect(outcomes['web']?.reason).toMatch(/pull access denied.*run docker login and check the name/);
    expect(await lab.engine.inspect('web')).toMatchObject({ Id: id, State: { Running: true } });
  });

  describe('a credential helper', () => {
    /** A container at a registry with passwords, and the executable with a helper on its PATH. */
    async function helped(lines: readonly string[] | undefined) {
      const target = await registryOf({ auth: 'basic' });
      const image = `${target.host}/team/app:stable`;
      const scene = { engine: lab.engine, target, repository: 'team/app', image, key: target.host };
      const made = await stale(scene);
      const notes = join(lab.dir, `helper-${target.host}`);
      const folder = lines && credentialHelper(lab.dir, 'lab', [`echo "$*|$server" >>${notes}`, ...lines]);
      const DOCKER_CONFIG = dockerConfigFolder(lab.dir, { credHelpers: { [target.host]: 'lab' } });
      const PATH = [...(folder === undefined ? [] : [folder]), process.env['PATH']].join(delimiter);
      return {
        ...made,
        host: target.host,
        notes,
        upkeep: upkeepScene({ socket: lab.engine.socket, env: { DOCKER_CONFIG, PATH } }),
      };
    }

    test('gives the login for the check and for the pull; it is asked by its input, and answers by its output', async () => {
      const answer = JSON.stringify({ ServerURL: 'x', Username: username, Secret: right });
      const { upkeep, next, notes, host } = await helped([`echo '${answer}'`]);
      expect((await upkeep.check())['web']?.status).toBe('stale');
      const { run, outcomes } = await upkeep.update();
      expect(outcomes['web'], run.stderr).toMatchObject({ outcome: 'updated' });
      expect((await lab.engine.inspect('web'))?.Image).toBe(next);
      expect(new Set(readFileSync(notes, 'utf8').trim().split('\n'))).toEqual(new Set([`get|${host}`]));
    });

    test.each<[string, string[] | undefined, RegExp]>([
      ['is missing', undefined, /docker-credential-lab is not installed here/],
      ['fails', ['echo "the vault is sealed" >&2; exit 1'], /docker-credential-lab failed: the vault is sealed/],
      [
        'answers with rubbish',
        [`echo 'Password: ${right}'`],
        /docker-credential-lab gave an answer that cannot be read/,
      ],
      ['hangs', ['sleep 600'], /docker-credential-lab did not answer within 10s/],
      [
        'has an old password',
        [`echo '{"Username":"reader","Secret":"${wrong}"}'`],
        /the login from docker-credential-lab does not give access/,
      ],
    ])('that %s is named as the reason why access is denied', async (_, lines, why) => {
      const { upkeep, id } = await helped(lines);
      const beganMs = performance.now();
      const { run, outcomes } = await upkeep.update();
      expect(performance.now() - beganMs).toBeLessThan(20_000);
      expect(outcomes['web']?.outcome).toBe('unknown');
      expect(outcomes['web']?.reason).toMatch(why);
      expect(outcomes['web']?.reason).toMatch(/Run "docker login/);
      for (const secret of [right, wrong]) expect(run.stdout + run.stderr).not.toContain(secret);
      expect(await lab.engine.inspect('web')).toMatchObject({ Id: id, State: { Running: true } });
    });
  });

  test('a mirror of Docker Hub is asked and pulled from; when it is down, Docker Hub itself', async () => {
    const hub = await registryOf({});
    const front = await frontOf({ tls: lab.pki, port: 443, upstreams: { 'registry-1.docker.io': hub.url } });
    const mirror = await registryOf({ mirrorOf: hub.url });
    const engine = await engineOf({ hubMirror: mirror.url, env: { SSL_CERT_FILE: lab.pki.caFile } });
    const scene = { engine, target: hub, repository: 'library/web', image: 'web:stable', key: '' };
    const { next } = await stale(scene);
    const upkeep = withLogin({ ...scene, args: ['--registry-ca', lab.pki.caFile] }, undefined);
    expect((await upkeep.update()).outcomes['web']?.outcome).toBe('updated');
    expect((await engine.inspect('web'))?.Image).toBe(next);
    expect(front.calls).toEqual([]);
    const { configDigest } = await pushImage(hub, 'library/web', 'stable', catalogue['other-defaults']);
    await mirror.stop();
    expect((await upkeep.check())['web']?.status).toBe('stale');
    expect((await upkeep.update()).outcomes['web']?.outcome).toBe('updated');
    expect((await engine.inspect('web'))?.Image).toBe(configDigest);
  });

  test('where only pulls are limited, as at GitHub, what is fresh is told for free, and the rest says how long to wait', async () => {
    const registry = await registryOf({});
    const limit = createRequestLimit({
      limit: 0,
      windowMs: 600_000,
      counts: ({ method, path }) => method === 'GET' && path.includes('/manifests/'),
    });
    let isLimited = false;
    await frontOf({
      tls: lab.pki,
      port: 443,
      upstreams: { 'ghcr.io': registry.url },
      says: (call) => (isLimited ? limit.says(call) : {}),
    });
    const scene = {
      engine: lab.engine,
      target: registry,
      repository: 'acme/app',
      image: 'ghcr.io/acme/app:stable',
      key: '',
      args: ['--registry-ca', lab.pki.caFile],
    };
    const { id, next } = await stale(scene);
    await pushImage(registry, 'acme/quiet', 'stable', catalogue['plain-v1']);
    await lab.engine.pull('ghcr.io/acme/quiet:stable');
    await lab.engine.run('quiet', 'ghcr.io/acme/quiet:stable', { StopTimeout: 1 });
    isLimited = true;
    const upkeep = withLogin(scene, undefined);
    const { quiet, web } = await upkeep.check('--check-concurrency', '1', 'quiet', 'web');
    expect(quiet?.status).toBe('fresh');
    expect(web).toMatchObject({ status: 'unknown', update_available: false });
    expect(web?.error).toMatch(
      /it limits requests: You have reached your pull rate limit; it may be asked again in (?:9m|10m)/,
    );
    const refused = await upkeep.update('web');
    expect(refused.outcomes['web']?.outcome).toBe('unknown');
    expect((await lab.engine.inspect('web'))?.Id).toBe(id);
    isLimited = false;
    expect((await upkeep.update('web')).outcomes['web']?.outcome).toBe('updated');
    expect((await lab.engine.inspect('web'))?.Image).toBe(next);
    expect(limit.windows[0]?.refused).toBe(2);
  });
});
