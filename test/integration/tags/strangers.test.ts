import { afterEach, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { httpRequest } from '../../lab/http.ts';
import { isPodman } from '../../lab/engine/podman.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { tar } from '../../lab/registry/tar.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';

/** Podman lists every name of an image with its digest, as if it had been pulled by that name. */
const onDocker = test.skipIf(isPodman);

describeInLab('an image of the same name by a stranger', (lab) => {
  const { engine, registry } = lab;
  const upkeep = upkeepScene({ socket: engine.socket });
  afterEach(() => engine.clear());
  const at = (repository: string) => `${registry.host}/strangers/${repository}`;

  /** The image of `from` runs under the name of `to`. */
  async function retag(from: string, to: string, tag = 'stable'): Promise<void> {
    await pushImage(registry, `strangers/${from}`, tag, catalogue['plain-v1']);
    await engine.pull(`${at(from)}:${tag}`);
    const source = encodeURIComponent(`${at(from)}:${tag}`);
    await engine.call('POST', `/images/${source}/tag?repo=${encodeURIComponent(at(to))}&tag=${tag}`);
    await engine.run('web', `${at(to)}:${tag}`, { StopTimeout: 1 });
  }

  onDocker.each(['stable', '1.27'])(
    'set-up image by a stranger: a retagged image is not replaced (%s)',
    async (tag) => {
      await retag('private/app', 'app', tag);
      await pushImage(registry, 'strangers/app', tag, catalogue['plain-v2']);
      const before = (await engine.inspect('web'))!.Id;
      const reason = expect.stringContaining('strangers/private/app" and only tagged');
      expect((await upkeep.check())['web']).toMatchObject({ status: 'local', update_available: false, reason });
      await upkeep.update();
      expect((await engine.inspect('web'))!.Id).toBe(before);
    },
  );

  test('set-up image by a stranger: one that the registry of its name knows is updated', async () => {
    await retag('mirror/app', 'known');
    await pushImage(registry, 'strangers/known', 'first', catalogue['plain-v1']);
    await pushImage(registry, 'strangers/known', 'stable', catalogue['plain-v2']);
    expect((await upkeep.update()).outcomes['web']).toMatchObject({ outcome: 'updated' });
  });

  test('set-up image by a stranger: one that was also pulled by its name is updated', async () => {
    await pushImage(registry, 'strangers/own', 'stable', catalogue['plain-v1']);
    await engine.pull(`${at('own')}:stable`);
    await engine.run('web', `${at('own')}:stable`, { StopTimeout: 1 });
    await engine.call('POST', `/images/${encodeURIComponent(`${at('own')}:stable`)}/tag?repo=backup&tag=1`);
    await pushImage(registry, 'strangers/own', 'stable', catalogue['plain-v2']);
    expect((await upkeep.update()).outcomes['web']).toMatchObject({ outcome: 'updated' });
  });

  const local = { status: 'local', update_available: false };

  /** An image that was made from a container here, with a name whose repository has another image of that tag. */
  async function build(repository: string, tag: string, Labels = {}): Promise<void> {
    await pushImage(registry, 'strangers/base', 'first', catalogue['plain-v1']);
    await engine.pull(`${at('base')}:first`);
    await engine.create('maker', `${at('base')}:first`);
    const repo = encodeURIComponent(at(repository));
    await engine.call('POST', `/commit?container=maker&repo=${repo}&tag=${tag}`, { Labels: { made: 'here' } });
    await engine.call('DELETE', '/containers/maker?force=true');
    await engine.run('web', `${at(repository)}:${tag}`, { StopTimeout: 1, Labels });
  }

  /** The image of the container leaves the engine, and comes back from a file. */
  async function reload(image: string): Promise<void> {
    const name = encodeURIComponent(image);
    const base = { socketPath: engine.socket, url: `http://engine/images/${name}/get` };
    const { body } = await httpRequest(base);
    await engine.call('DELETE', '/containers/web?force=true');
    await engine.call('DELETE', `/images/${name}?force=true`);
    const headers = { 'content-type': 'application/x-tar' };
    const loaded = await httpRequest({ ...base, method: 'POST', url: 'http://engine/images/load', headers, body });
    expect(loaded.status, loaded.body.toString()).toBe(200);
    await engine.run('web', image, { StopTimeout: 1 });
  }

  async function staysAsItIs(...args: string[]): Promise<void> {
    const before = (await engine.inspect('web'))!.Id;
    expect((await upkeep.check(...args))['web']).toMatchObject(local);
    await upkeep.update(...args);
    expect((await engine.inspect('web'))!.Id).toBe(before);
  }

  onDocker.each(['stable', '1.27-alpine'])(
    'set-up image by a stranger: one that was built here is not replaced (%s)',
    async (tag) => {
      await build('built', tag);
      await pushImage(registry, 'strangers/built', tag, catalogue['plain-v2']);
      await staysAsItIs();
    },
  );

  onDocker('set-up image by a stranger: one that was built here moves to no higher tag either', async () => {
    await build('numbered', '1.0.0');
    const created = new Date(Date.now() + 60_000).toISOString();
    await pushImage(registry, 'strangers/numbered', '1.1.0', { ...catalogue['plain-v2'], created });
    const before = (await engine.inspect('web'))!.Id;
    await upkeep.update('--policy', 'minor');
    expect((await engine.inspect('web'))!.Id).toBe(before);
  });

  onDocker('set-up image by a stranger: one that was loaded is not replaced before a pull of its name', async () => {
    await build('loaded', 'stable');
    await reload(`${at('loaded')}:stable`);
    await pushImage(registry, 'strangers/loaded', 'stable', catalogue['plain-v2']);
    await staysAsItIs();
    await engine.pull(`${at('loaded')}:stable`);
    expect((await upkeep.update()).outcomes['web']).toMatchObject({ outcome: 'updated' });
  });

  onDocker.each(['latest', '7.2'])(
    'set-up image by a stranger: one of a Dockerfile is not replaced (%s)',
    async (tag) => {
      await pushImage(registry, 'strangers/base', 'first', catalogue['plain-v1']);
      await engine.pull(`${at('base')}:first`);
      const content = `FROM ${at('base')}:first\nLABEL made=here\n`;
      const url = `http://engine/build?t=${encodeURIComponent(`${at('filed')}:${tag}`)}`;
      const headers = { 'content-type': 'application/x-tar' };
      const body = tar([{ path: 'Dockerfile', content, mode: 0o644 }]);
      const built = await httpRequest({ socketPath: engine.socket, method: 'POST', url, headers, body });
      expect(built.body.toString()).toContain('Successfully tagged');
      const compose = { 'com.docker.compose.project': 'shop', 'com.docker.compose.service': 'web' };
      await engine.run('web', `${at('filed')}:${tag}`, { StopTimeout: 1, Labels: compose });
      await pushImage(registry, 'strangers/filed', tag, catalogue['plain-v2']);
      await staysAsItIs('--policy', 'major');
    },
  );

  onDocker('set-up image by a stranger: one that was pulled by its digest elsewhere is not replaced', async () => {
    const { digest } = await pushImage(registry, 'strangers/vendor/app', 'stable', catalogue['plain-v1']);
    await engine.call('POST', `/images/create?fromImage=${encodeURIComponent(at('vendor/app'))}&tag=${digest}`);
    const source = encodeURIComponent(`${at('vendor/app')}@${digest}`);
    await engine.call('POST', `/images/${source}/tag?repo=${encodeURIComponent(at('pinned'))}&tag=stable`);
    await engine.run('web', `${at('pinned')}:stable`, { StopTimeout: 1 });
    await pushImage(registry, 'strangers/pinned', 'stable', catalogue['plain-v2']);
    await staysAsItIs();
  });

  onDocker('set-up image by a stranger: one that came as a file system is not replaced', async () => {
    await pushImage(registry, 'strangers/base', 'first', catalogue['plain-v1']);
    await engine.pull(`${at('base')}:first`);
    await engine.create('maker', `${at('base')}:first`);
    const exported = await httpRequest({ socketPath: engine.socket, url: 'http://engine/containers/maker/export' });
    await engine.call('DELETE', '/containers/maker?force=true');
    const url = `http://engine/images/create?fromSrc=-&repo=${encodeURIComponent(at('imported'))}&tag=stable`;
    const headers = { 'content-type': 'application/x-tar' };
    const imported = await httpRequest({
      socketPath: engine.socket,
      method: 'POST',
      url,
      headers,
      body: exported.body,
    });
    expect(imported.status, imported.body.toString()).toBe(200);
    await engine.run('web', `${at('imported')}:stable`, { StopTimeout: 1, Cmd: ['sleep', '1000000'] });
    await pushImage(registry, 'strangers/imported', 'stable', catalogue['plain-v2']);
    await staysAsItIs();
  });

  test('set-up image by a stranger: one that came by another name of the same registry is updated', async () => {
    await pushImage(registry, 'strangers/named', 'stable', catalogue['plain-v1']);
    const other = `localhost:${registry.host.split(':')[1]}/strangers/named`;
    await engine.pull(`${other}:stable`);
    const source = encodeURIComponent(`${other}:stable`);
    await engine.call('POST', `/images/${source}/tag?repo=${encodeURIComponent(at('named'))}&tag=stable`);
    await engine.run('web', `${at('named')}:stable`, { StopTimeout: 1 });
    await pushImage(registry, 'strangers/named', 'stable', catalogue['plain-v2']);
    expect((await upkeep.update()).outcomes['web']).toMatchObject({ outcome: 'updated' });
  });

  test('set-up image by a stranger: the label from-registry decides in both directions', async () => {
    await build('labelled', 'stable', { 'upkeep.from-registry': 'true' });
    await pushImage(registry, 'strangers/labelled', 'stable', catalogue['plain-v2']);
    expect((await upkeep.update()).outcomes['web']).toMatchObject({ outcome: 'updated' });
    await engine.call('DELETE', '/containers/web?force=true');
    await engine.run('web', `${at('labelled')}:stable`, {
      StopTimeout: 1,
      Labels: { 'upkeep.from-registry': 'false' },
    });
    await pushImage(registry, 'strangers/labelled', 'stable', catalogue['plain-v1']);
    await staysAsItIs();
  });

  test('set-up image by a stranger: one that an update has pulled is updated, though its registry has forgotten it', async () => {
    await pushImage(registry, 'strangers/forgetful', 'stable', catalogue['plain-v1']);
    await engine.pull(`${at('forgetful')}:stable`);
    await engine.run('web', `${at('forgetful')}:stable`, { StopTimeout: 1 });
    const second = await pushImage(registry, 'strangers/forgetful', 'stable', catalogue['plain-v2']);
    expect((await upkeep.update()).outcomes['web']).toMatchObject({ outcome: 'updated' });
    const url = `${registry.url}/v2/strangers/forgetful/manifests/${second.digest}`;
    expect((await httpRequest({ method: 'DELETE', url })).status).toBe(202);
    await pushImage(registry, 'strangers/forgetful', 'stable', catalogue.v1);
    expect((await upkeep.update()).outcomes['web']).toMatchObject({ outcome: 'updated' });
  });
});
