import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { catalogue } from '../lab/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import type { EngineClient } from '../lab/engine-client.ts';
import { startFront, type Front } from '../lab/registry-front.ts';
import { pushImage, type PushTarget } from '../lab/push.ts';
import type { LabRegistry, RegistryOptions } from '../lab/registry.ts';
import { users } from '../lab/token-server.ts';
import { dockerConfigFolder, loginEntry, upkeepScene } from '../support/upkeep-scene.ts';

const username = 'reader';
const right = users[username] ?? '';
const wrong = 'no-longer-valid';

/** A whole check and a whole update, through the executable and a real engine, at the registries that people have. */
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
    /** Where to push to, and which repository. */
    readonly target: PushTarget;
    readonly repository: string;
    /** What containers are created from. */
    readonly image: string;
    /** The key of the login in config.json. */
    readonly key: string;
    readonly args?: readonly string[];
  };

  /** A running container on the first version, and a tag that has moved on to the second. */
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
});
