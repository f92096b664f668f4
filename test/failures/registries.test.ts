import { describe, expect, test } from 'vitest';
import type { RegistryFault } from '../../sandbox/registry/registry-store.ts';
import { ServiceError } from '../../src/domain/text/errors.ts';
import { parseImageReference } from '../../src/domain/image/image-reference.ts';
import { at, createOciRig } from '../support/registry/oci-rig.ts';
import { dockerList, emptyContent, putImage, putIndex, serveContent } from '../support/registry/registry-content.ts';
import { setStage } from './rig/stage.ts';

/** Failures of registries, and of pulls. */

const rig = createOciRig();

/** `web` comes from its own registry, which has a fault. */
const cast = { web: { image: 'bad.test/web:1' }, other: {} };

describe('a registry', () => {
  test('failure 3: the old image is gone from the engine: its container stays, nothing is pulled', async () => {
    const stage = await setStage(cast);
    stage.scene.sandbox.control.removeImageByForce(stage.before.get('web')!.imageId);
    for (let run = 0; run < 2; run += 1) {
      const { outcomes, of, connection } = await stage.update({ request: { containers: ['web'] } });
      expect(outcomes).toEqual({ web: 'skipped' });
      expect(of('web').reason).toContain('runs an image that is gone from the engine');
      expect(connection.calls).toEqual([]);
    }
    expect(stage.harm()).toEqual([]);
  });

  test.each<[string, RegistryFault, string]>([
    ['is down', { kind: 'unreachable' }, 'connection refused'],
    ['does not answer', { kind: 'silent', deadlineMs: 30_000 }, 'no answer'],
    ['refuses the login', { kind: 'denied' }, 'access denied'],
  ])('failure 4: it %s: its containers stay, the others are updated', async (_what, misbehaviour, why) => {
    const stage = await setStage(cast);
    stage.scene.registry.store.misbehave('bad.test', misbehaviour);
    const { outcomes, of } = await stage.update();
    expect(outcomes).toEqual({ web: 'unknown', other: 'updated' });
    expect(of('web').reason).toContain(why);
    expect(stage.isReplaced('web')).toBe(false);
    expect(stage.harm()).toEqual([]);
  });

  test('failure 5: the tag is deleted: that is not known to be up to date', async () => {
    const stage = await setStage(cast);
    stage.scene.registry.store.untag('bad.test/web:1');
    const { outcomes, of } = await stage.update();
    expect(outcomes).toEqual({ web: 'unknown', other: 'updated' });
    expect(of('web').reason).toContain('manifest unknown');
    expect(stage.harm()).toEqual([]);
  });

  test('failure 6: it limits requests: those without an answer are unknown, and nobody else waits', async () => {
    const names = ['one', 'two', 'three', 'four'];
    const limited = Object.fromEntries(names.map((name) => [name, { image: `bad.test/${name}:1` }]));
    const stage = await setStage({ ...limited, other: {} });
    stage.scene.registry.store.misbehave('bad.test', { kind: 'rate-limited', max: 0, windowMs: 3_600_000 });
    const { outcomes, of, session } = await stage.update();
    expect(outcomes).toEqual({ one: 'unknown', two: 'unknown', three: 'unknown', four: 'unknown', other: 'updated' });
    for (const name of names) expect(of(name).reason).toContain('too many requests');
    expect(session.durationMs).toBeLessThan(60_000);
    expect(stage.harm()).toEqual([]);
  });

  test('failure 7: a pull breaks off: nothing has been stopped, the others are updated', async () => {
    const stage = await setStage(cast);
    stage.scene.registry.store.misbehave('bad.test', { kind: 'breaks-pulls', message: 'unexpected EOF' });
    const { outcomes, of } = await stage.update();
    expect(outcomes).toEqual({ web: 'failed', other: 'updated' });
    expect(of('web').reason).toContain('unexpected EOF');
    expect(stage.isReplaced('web')).toBe(false);
    expect(stage.harm()).toEqual([]);
  });

  test('failure 7: the disk is full during a pull: nothing has been stopped', async () => {
    const stage = await setStage(cast);
    stage.scene.sandbox.control.fillDisk();
    const { outcomes, of, connection } = await stage.update();
    expect(outcomes).toEqual({ web: 'failed', other: 'failed' });
    expect(of('web').reason).toContain('no space left on device');
    expect(new Set(connection.calls.map(({ kind }) => kind))).toEqual(new Set(['pullImage']));
    expect(stage.harm()).toEqual([]);
  });

  test('pitfall 9: the engine is not allowed to pull, and says that there is no such image: that has failed', async () => {
    const stage = await setStage(cast);
    const why = 'pull access denied for web, repository does not exist or may require authorization';
    const { outcomes, of } = await stage.update({
      outside: ({ engine }) => ({
        engine: {
          ...engine,
          pullImage: (request, signal) =>
            request.reference.startsWith('bad.test')
              ? Promise.reject(new ServiceError('pull-failed', `Cannot pull "${request.reference}": ${why}`))
              : engine.pullImage(request, signal),
        },
      }),
    });
    expect(outcomes).toEqual({ web: 'failed', other: 'updated' });
    expect(of('web').reason).toContain(why);
    expect(stage.harm()).toEqual([]);
  });
});

describe('asking a registry', () => {
  test('pitfall 1: an index of the older kind is asked for too, so that its digest can match', async () => {
    const content = emptyContent();
    const index = putIndex(content, 'team/app:1', [putImage(content, undefined)], dockerList);
    const server = await rig.serve((request) =>
      request.headers.accept?.includes(dockerList) ? serveContent(content)(request) : { status: 404 },
    );
    expect(await rig.registry().resolve(at(server))).toBe(index);
  });

  test('pitfall 7: a mirror of Docker Hub is asked about Docker Hub only, and without its login', async () => {
    const [own, hub] = [emptyContent(), emptyContent()];
    const { digest } = putImage(own, 'library/app:1', { label: 'own' });
    const { digest: hubDigest } = putImage(hub, 'library/app:1', { label: 'hub' });
    const server = await rig.serve(serveContent(own));
    const mirror = await rig.serve(serveContent(hub));
    const auth = Buffer.from('someone:secret').toString('base64');
    const registry = rig.registry({
      hubMirrors: () => Promise.resolve([mirror.url]),
      dockerConfigPath: rig.dockerConfig({
        auths: { 'https://index.docker.io/v1/': { auth }, [server.host]: { auth } },
      }),
    });
    expect(await registry.resolve(at(server, 'library/app:1'))).toBe(digest);
    expect(mirror.seen).toEqual([]);
    expect(await registry.resolve(parseImageReference('app:1'))).toBe(hubDigest);
    for (const { headers } of mirror.seen) expect(headers.authorization).toBeUndefined();
  });

  test.each([
    ['tells no digest', { status: 200 }],
    ['is refused with 401', { status: 401 }],
    ['is refused with 405', { status: 405 }],
  ])('pitfall 24: HEAD %s: GET tells', async (_what, head) => {
    const content = emptyContent();
    const { digest } = putImage(content, 'team/app:1');
    const server = await rig.serve((request) => (request.method === 'HEAD' ? head : serveContent(content)(request)));
    expect(await rig.registry().resolve(at(server))).toBe(digest);
  });
});
