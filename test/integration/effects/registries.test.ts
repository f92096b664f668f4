import { mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { pushImage, type PushTarget } from '../../lab/registry/push.ts';
import { startFront, type Front, type FrontOptions } from '../../lab/registry/registry-front.ts';
import { users } from '../../lab/registry/token-server.ts';
import { startHttpServer } from '../../support/http/http-server.ts';
import { dockerConfigFolder, loginEntry, upkeepScene } from '../../support/scene/upkeep-scene.ts';

const username = 'reader';
const password = users[username] ?? '';

describeInLab('how registries are reached', (lab) => {
  const { engine, pki } = lab;
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    await engine.clear();
    for (const close of closing.splice(0).toReversed()) await close();
  });

  /** A running container whose tag has moved; `host` is the registry's address for the engine and Upkeep. */
  async function stale(host: string, target: PushTarget = lab.registry, name = 'web'): Promise<void> {
    const repository = `reached/${name}`;
    await pushImage(target, repository, 'stable', catalogue['plain-v1']);
    await engine.pull(`${host}/${repository}:stable`, { username, password });
    await engine.run(name, `${host}/${repository}:stable`, { StopTimeout: 1 });
    await pushImage(target, repository, 'stable', catalogue['plain-v2']);
  }

  /** A proxy before the lab's registry, under a name without an exception for proxies. */
  async function frontOf(options: Partial<FrontOptions>): Promise<Front & { readonly host: string }> {
    const front = await startFront({ upstreams: {}, otherwise: lab.registry.url, ...options });
    closing.push(front.close);
    return { ...front, host: `registry.test:${front.port}` };
  }

  async function statusWith(env: Readonly<Record<string, string>>, ...args: string[]): Promise<string | undefined> {
    return (await upkeepScene({ socket: engine.socket, env }).check(...args))['web']?.status;
  }

  test('the login is found in HOME, and without one REPO_USER and REPO_PASS are it where REPO_HOST says so, also for the pull', async () => {
    const registry = await lab.startRegistry({ auth: 'basic' });
    closing.push(registry.remove);
    await stale(registry.host, registry);
    expect(await statusWith({})).toBe('unknown');
    const HOME = mkdtempSync(join(lab.dir, 'home-'));
    const folder = dockerConfigFolder(lab.dir, { auths: { [registry.host]: loginEntry(username, password) } });
    renameSync(folder, join(HOME, '.docker'));
    expect(await statusWith({ HOME })).toBe('stale');
    const env = { REPO_USER: username, REPO_PASS: password };
    expect(await statusWith(env)).toBe('unknown');
    const { update } = upkeepScene({
      socket: engine.socket,
      env: { ...env, REPO_HOST: registry.host },
      args: ['--health-window', '200ms'],
    });
    expect((await update()).outcomes['web']).toMatchObject({ outcome: 'updated' });
  });

  test('HTTP_PROXY leads to registries with plain HTTP, but not to those of NO_PROXY', async () => {
    const { host } = await frontOf({});
    const proxy = await frontOf({});
    await stale(host);
    const HTTP_PROXY = `http://127.0.0.1:${proxy.port}`;
    expect(await statusWith({ HTTP_PROXY }, '--registry-tls-skip')).toBe('stale');
    const calls = proxy.calls.length;
    expect(calls).toBeGreaterThan(0);
    expect(await statusWith({ HTTP_PROXY, NO_PROXY: 'registry.test' }, '--registry-tls-skip')).toBe('stale');
    expect(proxy.calls).toHaveLength(calls);
  });

  test('HTTPS_PROXY leads to all others', async () => {
    const { host, port } = await frontOf({ tls: pki });
    const proxy = await startHttpServer(() => ({ status: 400 }), { tunnelTo: port });
    closing.push(() => proxy[Symbol.asyncDispose]());
    await stale(host);
    expect(await statusWith({ HTTPS_PROXY: proxy.url }, '--registry-ca', pki.caFile)).toBe('stale');
    expect(proxy.tunnels).toContainEqual(expect.objectContaining({ url: host }));
  });

  test('the authorities of the system are trusted, as are those of SSL_CERT_FILE, SSL_CERT_DIR and NODE_EXTRA_CA_CERTS together', async () => {
    const target = await lab.startRegistry({ tls: true, address: '198.18.0.1' });
    const own = await lab.startEngine({ name: 'trusting', env: { SSL_CERT_FILE: pki.caFile } });
    closing.push(target.remove, own.remove);
    const image = `${target.host.replace('198.18.0.1', 'secure.test')}/reached/web:stable`;
    await pushImage(target, 'reached/web', 'stable', catalogue['plain-v1']);
    await own.pull(image);
    await own.run('web', image, { StopTimeout: 1 });
    await pushImage(target, 'reached/web', 'stable', catalogue['plain-v2']);
    const statusOf = async (env: Readonly<Record<string, string>>) =>
      (await upkeepScene({ socket: own.socket, env }).check())['web']?.status;
    expect(await statusOf({})).toBe('unknown');
    expect(await statusOf({ SSL_CERT_FILE: pki.caFile })).toBe('stale');
    expect(await statusOf({ SSL_CERT_FILE: '/nowhere', SSL_CERT_DIR: `/nowhere:${dirname(pki.caFile)}` })).toBe(
      'stale',
    );
    const other = join(lab.dir, 'other-authority.pem');
    writeFileSync(other, rootCertificates[0] ?? '');
    expect(await statusOf({ SSL_CERT_FILE: other, NODE_EXTRA_CA_CERTS: pki.caFile })).toBe('stale');
    expect(await statusOf({ SSL_CERT_FILE: other })).toBe('unknown');
  });

  test('--registry-tls-min-version refuses a registry with older TLS', async () => {
    const { host } = await frontOf({ tls: pki, maxTls: 'TLSv1.2' });
    await stale(host);
    const ca = ['--registry-ca', pki.caFile];
    expect(await statusWith({}, ...ca)).toBe('stale');
    expect(await statusWith({}, ...ca, '--registry-tls-min-version', 'tls1.3')).toBe('unknown');
  });

  test('--check-concurrency is how many images are asked about at once', async () => {
    let most = 0;
    const front: Front & { readonly host: string } = await frontOf({
      says: () => {
        most = Math.max(most, front.calls.filter(({ status }) => status === 0).length);
        return {};
      },
    });
    const names = ['web', 'two', 'three', 'four'];
    await Promise.all(names.map((name) => stale(front.host, lab.registry, name)));
    most = 0;
    const checked = await upkeepScene({ socket: engine.socket }).check('--check-concurrency', '1');
    expect(names.map((name) => checked[name]?.status)).toEqual(names.map(() => 'stale'));
    expect(most).toBe(1);
  });
});
