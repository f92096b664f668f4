import { describe, expect, test } from 'vitest';
import { startHttpServer, type Answer } from '../../../test/support/http/http-server.ts';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import type { Digest } from '../../domain/image/image-reference.ts';
import { at, createOciRig, failureOf } from '../../../test/support/registry/oci-rig.ts';
import {
  dockerList,
  emptyContent,
  ociIndex,
  ociManifest,
  putImage,
  putIndex,
  putManifest,
  serveContent,
  sha256,
} from '../../../test/support/registry/registry-content.ts';

const rig = createOciRig();

const linux = { os: 'linux', architecture: 'amd64', variant: '' };

describe('resolve()', () => {
  test('asks with one HEAD that accepts all four types, and says who we are', async () => {
    const content = emptyContent();
    const { digest } = putImage(content, 'team/app:1');
    const server = await rig.serve(serveContent(content));
    expect(await rig.registry().resolve(at(server))).toBe(digest);
    expect(server.lines()).toEqual(['HEAD /v2/team/app/manifests/1']);
    const { accept, 'user-agent': agent, authorization } = server.seen[0]!.headers;
    expect(accept?.split(', ').sort()).toEqual([
      'application/vnd.docker.distribution.manifest.list.v2+json',
      'application/vnd.docker.distribution.manifest.v2+json',
      'application/vnd.oci.image.index.v1+json',
      'application/vnd.oci.image.manifest.v1+json',
    ]);
    expect(agent).toBe('upkeep/1.2.3');
    expect(authorization).toBeUndefined();
  });

  test('tells the digest of the index, not of one of its images', async () => {
    const content = emptyContent();
    const index = putIndex(content, 'team/app:1', [putImage(content, undefined)], dockerList);
    const server = await rig.serve(serveContent(content));
    expect(await rig.registry().resolve(at(server))).toBe(index);
  });

  test('costs fifty requests, when a thousand callers want fifty images', async () => {
    const content = emptyContent();
    for (let i = 0; i < 50; i += 1) putImage(content, `team/app${i}:1`, { label: String(i) });
    const server = await rig.serve(serveContent(content));
    const registry = rig.registry();
    const digests = await Promise.all(
      Array.from({ length: 1000 }, (_, i) => registry.resolve(at(server, `team/app${i % 50}:1`))),
    );
    expect(new Set(digests).size).toBe(50);
    expect(server.lines().length).toBe(50);
  });

  test('of 200 images at a registry that refuses every second request, each has its digest or says why, in bounded time', async () => {
    const content = emptyContent();
    const images = Array.from({ length: 200 }, (_, i) => `team/app${i % 8}:${i}`);
    const digests = images.map((image) => putImage(content, image, { label: image }).digest);
    const serve = serveContent(content);
    let asked = 0;
    const server = await rig.serve((request) => {
      asked += 1;
      return asked % 2 === 0 ? { status: 429, headers: { 'retry-after': '1' } } : serve(request);
    });
    const clock = createFakeClock({ auto: true });
    const oci = rig.registry({ clock });
    const outcomes = await Promise.allSettled(images.map((image) => oci.resolve(at(server, image))));
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') expect(outcome.value).toBe(digests[i]);
      else
        expect(outcome.reason).toMatchObject({
          code: 'registry-rate-limited',
          message: expect.stringContaining('it limits requests'),
        });
    }
    expect(clock.monotonicMs()).toBeLessThan(150_000);
    expect(asked).toBeLessThanOrEqual(4 * images.length);
  });

  test('goes on for the others when one caller leaves, and stops when the last has left', async () => {
    let reply = (): void => undefined;
    const answered = new Promise<void>((resolve) => (reply = resolve));
    const content = emptyContent();
    const { digest } = putImage(content, 'team/app:1');
    const server = await rig.serve(async (request) => {
      await answered;
      return serveContent(content)(request);
    });
    const registry = rig.registry();
    const [first, second] = [new AbortController(), new AbortController()];
    const left = registry.resolve(at(server), first.signal);
    const stayed = registry.resolve(at(server), second.signal);
    const reason = new Error('enough');
    first.abort(reason);
    await expect(left).rejects.toBe(reason);
    reply();
    expect(await stayed).toBe(digest);

    const alone = new AbortController();
    const asked = registry.resolve(at(server, 'team/other:1'), alone.signal);
    alone.abort(reason);
    await expect(asked).rejects.toBe(reason);
  });

  test('asks whether a known tag still means the same, and takes 304 for yes', async () => {
    const content = emptyContent();
    const { digest } = putImage(content, 'team/app:1');
    const server = await rig.serve(serveContent(content));
    const registry = rig.registry();
    await registry.resolve(at(server));
    expect(await registry.resolve(at(server))).toBe(digest);
    expect(server.seen.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, `"${digest}"`]);
    const { digest: newer } = putImage(content, 'team/app:1', { label: 'newer' });
    expect(await registry.resolve(at(server))).toBe(newer);
  });

  test('asks for nothing when the reference is a digest alone', async () => {
    const server = await rig.serve(() => ({ status: 500 }));
    const digest = sha256('x');
    expect(await rig.registry().resolve(at(server, `team/app@${digest}`))).toBe(digest);
    expect(server.seen).toEqual([]);
  });

  test.each([400, 401, 403, 404, 405, 501])(
    'hashes the body of a GET, when HEAD is answered with %i',
    async (status) => {
      const content = emptyContent();
      const { digest } = putImage(content, 'team/app:1');
      const server = await rig.serve((request) =>
        request.method === 'HEAD' ? { status } : serveContent(content)(request),
      );
      expect(await rig.registry().resolve(at(server))).toBe(digest);
      expect(server.lines()).toEqual(['HEAD /v2/team/app/manifests/1', 'GET /v2/team/app/manifests/1']);
    },
  );

  test('hashes the body of a GET, when no answer names a digest', async () => {
    const body = JSON.stringify({ schemaVersion: 2, config: { digest: sha256('c') }, layers: [] });
    const server = await rig.serve(() => ({ headers: { 'content-type': ociManifest }, body }));
    expect(await rig.registry().resolve(at(server))).toBe(sha256(body));
  });

  test('refuses a body that is not what its header says', async () => {
    const body = JSON.stringify({ schemaVersion: 2, config: { digest: sha256('c') }, layers: [] });
    const server = await rig.serve(({ method }) =>
      method === 'HEAD' ? { status: 405 } : { headers: { 'docker-content-digest': sha256('other') }, body },
    );
    const error = await failureOf(rig.registry().resolve(at(server)));
    expect(error).toMatchObject({ code: 'registry-invalid' });
    expect(error.message).toBe(
      `Cannot check "${server.host}/team/app:1" at "${server.host}": its content does not have the digest ${sha256('other')}`,
    );
  });

  test('refuses what is compressed without being asked, because its digest would be another', async () => {
    const server = await rig.serve(({ method }) =>
      method === 'HEAD' ? { status: 405 } : { headers: { 'content-encoding': 'gzip' }, body: '{"layers":[]}' },
    );
    const error = await failureOf(rig.registry().resolve(at(server)));
    expect(error.code).toBe('registry-invalid');
    expect(error.message).toContain('compressed');
  });

  test('refuses the page of a captive portal', async () => {
    const server = await rig.serve(() => ({
      headers: { 'content-type': 'text/html' },
      body: '<html>Log in to the Wi-Fi',
    }));
    const error = await failureOf(rig.registry().resolve(at(server)));
    expect(error.code).toBe('registry-invalid');
    expect(error.message).toContain('its answer is not a manifest');
  });

  test('refuses the outdated format, whose digest no engine has', async () => {
    const type = 'application/vnd.docker.distribution.manifest.v1+prettyjws; charset=utf-8';
    const server = await rig.serve(() => ({ headers: { 'content-type': type, 'docker-content-digest': sha256('x') } }));
    const error = await failureOf(rig.registry().resolve(at(server)));
    expect(error.code).toBe('registry-invalid');
    expect(error.message).toContain('outdated manifest format');
  });

  test('names the image, the host and the words of the registry, cut and made harmless', async () => {
    const message = `\u001b[31mno\u202e ${'x'.repeat(500)}`;
    const server = await rig.serve(() => ({
      status: 404,
      body: JSON.stringify({ errors: [{ code: 'NAME_UNKNOWN', message }] }),
    }));
    const error = await failureOf(rig.registry().resolve(at(server)));
    expect(error.code).toBe('registry-not-found');
    expect(error.message).toContain(`Cannot check "${server.host}/team/app:1" at "${server.host}": it has no such tag`);
    expect(error.message).toContain(String.raw`\x1b[31mno\u202e xxx`);
    expect(error.message.length).toBeLessThan(400);
  });

  test('is not impressed by an answer without an end', async () => {
    const body = Buffer.alloc(5 * 1024 * 1024, 'x');
    const server = await rig.serve(({ method }) => (method === 'HEAD' ? { status: 405 } : { body }));
    const error = await failureOf(rig.registry().resolve(at(server)));
    expect(error.code).toBe('registry-invalid');
    expect(error.message).toContain('more than 4194304 bytes');
  });

  test('tries again after a broken connection and an answer of 500 and above, twice', async () => {
    const content = emptyContent();
    const { digest } = putImage(content, 'team/app:1');
    const troubles: Answer[] = [() => 'drop', () => ({ status: 502 })];
    const server = await rig.serve((request) => (troubles.shift() ?? serveContent(content))(request));
    expect(await rig.registry().resolve(at(server))).toBe(digest);
    expect(server.lines().length).toBe(3);
  });

  test('gives up on a registry in trouble after four requests in all', async () => {
    const server = await rig.serve(() => ({ status: 503, body: 'down for maintenance' }));
    const error = await failureOf(rig.registry().resolve(at(server)));
    expect(error.code).toBe('registry-unreachable');
    expect(error.message).toContain('it answered with status 503');
    expect(server.lines()).toEqual([
      ...Array<string>(3).fill('HEAD /v2/team/app/manifests/1'),
      'GET /v2/team/app/manifests/1',
    ]);
  });

  test('says that nobody answered in time', async () => {
    const server = await rig.serve(() => 'hang');
    const error = await failureOf(rig.registry({ requestDeadlineMs: 30 }).resolve(at(server)));
    expect(error.code).toBe('timeout');
    expect(error.message).toContain('it did not answer within 30ms');
  });

  test('says that nobody is there, in both schemes at once', async () => {
    const server = await startHttpServer(() => ({}));
    await server[Symbol.asyncDispose]();
    const error = await failureOf(rig.registry().resolve(at(server)));
    expect(error.code).toBe('registry-unreachable');
    expect(error.message).toMatch(/: the connection was refused$/);
  });

  test('uses connections again', async () => {
    const content = emptyContent();
    for (let i = 0; i < 20; i += 1) putImage(content, `team/app${i}:1`, { label: String(i) });
    const server = await rig.serve(serveContent(content));
    const registry = rig.registry();
    for (let i = 0; i < 20; i += 1) await registry.resolve(at(server, `team/app${i}:1`));
    // One connection for the attempt with TLS.
    expect(server.connections()).toBe(2);
  });
});

describe('configOf()', () => {
  const missing: Digest = `sha256:${'0'.repeat(64)}`;
  async function configOf(config: string, served = config) {
    const content = emptyContent();
    const configDigest = sha256(config);
    content.blobs.set(configDigest, served);
    const server = await rig.serve(serveContent(content));
    return rig.registry().configOf(at(server), { configDigest, manifestDigest: missing });
  }

  test('gives all that containers inherit, and the platform', async () => {
    const config = {
      User: 'app',
      Env: ['A=1'],
      Cmd: ['run'],
      Entrypoint: ['/bin/app'],
      Labels: { 'upkeep.verify': 'off', __proto__x: 'y' },
      ExposedPorts: { '80/tcp': {} },
      Volumes: { '/data': {} },
      WorkingDir: '/app',
      StopSignal: 'SIGINT',
      Healthcheck: { Test: ['CMD', 'true'], Interval: 1_000_000_000, Retries: 3 },
    };
    const others = { Hostname: 'x', Image: 'y', MacAddress: 'z', Domainname: 5 };
    const created = '2026-02-03T04:05:06Z';
    const body = { created, os: 'linux', architecture: 'arm', variant: 'v7', config: { ...config, ...others } };
    expect(await configOf(JSON.stringify(body))).toEqual({
      ...{ os: 'linux', architecture: 'arm', variant: 'v7', createdAtMs: Date.parse(created), config },
    });
  });

  test('takes null and what is missing for nothing', async () => {
    const nothing = { os: '', architecture: '', variant: '', createdAtMs: 0, config: {} };
    for (const config of ['null', '{"Env":null,"Cmd":null,"Labels":null,"Healthcheck":null}'])
      expect(await configOf(`{"config":${config}}`)).toEqual(nothing);
    expect(await configOf('{}')).toEqual(nothing);
  });

  test.each([
    ['"Env"', '{"config":{"Env":"A=1"}}'],
    ['"Env"', '{"config":{"Env":["A=1",2]}}'],
    ['"Labels"', '{"config":{"Labels":{"upkeep.verify":false}}}'],
    ['"Labels"', '{"config":{"Labels":[]}}'],
    ['"Healthcheck"', '{"config":{"Healthcheck":{"Interval":"30s"}}}'],
    ['"User"', '{"config":{"User":0}}'],
    ['is no JSON object', '[]'],
    ['is no JSON object', 'OS'],
    ['can be read in two ways: "Labels" is given twice', '{"config":{"Labels":{},"Labels":{"a":"b"}}}'],
    ['can be read in two ways: a field looks like "Env"', '{"config":{"ENV":["A=1"]}}'],
    ['can be read in two ways: a field looks like "config"', '{"Config":{"Labels":{}}}'],
  ])('refuses what an engine could not read, or read differently: %s in %s', async (why, text) => {
    const error = await failureOf(configOf(text));
    expect(error).toMatchObject({ code: 'registry-invalid' });
    expect(error.message).toContain(`its image config`);
    expect(error.message).toContain(why);
  });

  test('refuses another content than that of its digest', async () => {
    expect((await failureOf(configOf('{}', '{ }'))).message).toContain('does not have the digest');
  });
});

describe('describe()', () => {
  test('tells of a platform what an engine can only choose one image of, and nothing that differs otherwise', async () => {
    const content = emptyContent();
    const images = [
      putImage(content, undefined, { label: 'plain', version: '1.0', created: '2026-01-01T00:00:00Z' }),
      putImage(content, undefined, { variant: 'v3', label: 'v3', version: '1.0', created: '2026-02-01T00:00:00Z' }),
      putImage(content, undefined, { variant: 'v2', label: 'v2', version: '2.0', created: '2026-01-15T00:00:00Z' }),
    ];
    const [plain, third, second] = images.map((image) => ({
      manifestDigest: image.digest,
      configDigest: image.configDigest,
    }));
    const one = putIndex(content, 'team/app:1', images.slice(0, 1));
    const same = putIndex(content, 'team/app:2', images.slice(0, 2));
    const different = putIndex(content, 'team/app:3', images);
    const server = await rig.serve(serveContent(content));
    const registry = rig.registry();
    const of = (digest: Digest) => registry.describe({ reference: at(server), digest, platform: linux });
    const facts = { ...plain, platform: linux };
    const labels = { 'org.opencontainers.image.version': '1.0' };
    expect(await of(one)).toEqual({ digest: one, ...facts, createdAtMs: Date.UTC(2026, 0, 1), labels });
    expect(server.lines()).toHaveLength(3);
    const latest = { ...facts, createdAtMs: Date.UTC(2026, 1, 1) };
    expect(await of(same)).toEqual({ digest: same, ...latest, labels, alternatives: [third] });
    expect(await of(different)).toEqual({ digest: different, ...latest, alternatives: [third, second] });
  });

  test('tells the source from the annotations on the way to an image, the inner ones first', async () => {
    const content = emptyContent();
    const name = 'org.opencontainers.image.source';
    const other = { 'com.example.more': 'x', 'org.opencontainers.image.version': '9' };
    const { digest: bare, configDigest } = putImage(content, undefined, { version: '1.0' });
    const config = { mediaType: 'application/vnd.oci.image.config.v1+json', digest: configDigest, size: 1 };
    const head = { schemaVersion: 2, mediaType: ociManifest, config, layers: [] };
    const own = putManifest(content, undefined, ociManifest, {
      ...head,
      annotations: { ...other, [name]: 'manifest' },
    });
    const putIndexOf = (digest: Digest, onEntry?: object, onIndex?: object) => {
      const entry = { mediaType: ociManifest, digest, size: 1, platform: linux, annotations: onEntry };
      return putManifest(content, undefined, ociIndex, { schemaVersion: 2, manifests: [entry], annotations: onIndex });
    };
    const server = await rig.serve(serveContent(content));
    const of = async (digest: Digest) =>
      (await rig.registry().describe({ reference: at(server), digest, platform: linux })).annotations;
    expect(await of(bare)).toBeUndefined();
    expect(await of(own)).toEqual({ [name]: 'manifest' });
    expect(await of(putIndexOf(bare, { [name]: 'entry' }, { [name]: 'index' }))).toEqual({ [name]: 'entry' });
    expect(await of(putIndexOf(bare, { [name]: 7 }, { ...other, [name]: 'index' }))).toEqual({ [name]: 'index' });
    expect(await of(putIndexOf(own, { [name]: 'entry' }))).toEqual({ [name]: 'manifest' });
    expect(await of(putIndexOf(bare, { [name]: 'x'.repeat(1001) }))).toBeUndefined();
  });

  test('tells nothing of an image beside many, or beside one that is no image', async () => {
    const content = emptyContent();
    const [plain, ...variants] = ['', 'v2', 'v3', 'v4', 'v5', 'v6'].map((variant) =>
      putImage(content, undefined, { variant, version: '1.0' }),
    );
    const many = putIndex(content, 'team/app:1', [plain!, ...variants]);
    const missing = { ...variants[0]!, digest: sha256('missing') };
    const broken = putIndex(content, 'team/app:2', [plain!, missing]);
    const server = await rig.serve(serveContent(content));
    const registry = rig.registry();
    const of = (digest: Digest) => registry.describe({ reference: at(server), digest, platform: linux });
    const unread = (manifestDigest: Digest) => ({ manifestDigest, configDigest: undefined });
    const nothing = {
      manifestDigest: plain!.digest,
      configDigest: plain!.configDigest,
      platform: linux,
      createdAtMs: undefined,
    };
    expect(await of(many)).toEqual({
      digest: many,
      ...nothing,
      alternatives: variants.map(({ digest }) => unread(digest)),
    });
    expect(server.lines()).toHaveLength(3);
    expect(await of(broken)).toEqual({ digest: broken, ...nothing, alternatives: [unread(missing.digest)] });
  });

  const entry = '"mediaType":"application/vnd.oci.image.manifest.v1+json","size":1,"digest":"DIGEST"';
  const platform = '"platform":{"os":"linux","architecture":"amd64"}';
  test.each([
    ['"digest" is given twice', `{"manifests":[{${entry},"digest":"DIGEST",${platform}}]}`],
    ['"os" is given twice', `{"manifests":[{${entry},"platform":{"os":"linux","os":"linux","architecture":"amd64"}}]}`],
    ['a field is given twice', `{"x":1,"x":2,"manifests":[{${entry},${platform}}]}`],
    ['a field looks like "manifests", but is not', `{"Manifests":[],"manifests":[{${entry},${platform}}]}`],
    ['a field looks like "platform", but is not', `{"manifests":[{${entry},${platform},"PlatForm":{}}]}`],
    ['a field looks like "digest", but is not', `{"manifests":[{${entry},${platform},"dige\u017ft":"DIGEST"}]}`],
    ['a field looks like "os", but is not', `{"manifests":[{${entry},"platform":{"o\\u017f":"linux"}}]}`],
    ['it is nested too deep', `{"manifests":[{${entry},${platform}}],"x":${'['.repeat(40)}${']'.repeat(40)}}`],
  ])('refuses an index that other parsers read differently: %s', async (why, text) => {
    const content = emptyContent();
    const { digest: inner } = putImage(content, undefined);
    const body = text.replaceAll('DIGEST', inner);
    const digest = sha256(body);
    content.manifests.set(digest, { type: ociIndex, body });
    const server = await rig.serve(serveContent(content));
    const error = await failureOf(rig.registry().describe({ reference: at(server), digest, platform: linux }));
    expect(error).toMatchObject({ code: 'registry-invalid' });
    expect(error.message).toContain(`its manifest can be read in two ways: ${why}`);
  });

  test.each(['Linux', 'LINUX', 'linuX'])('refuses an index that ends an engine: it names the system %s', async (os) => {
    const content = emptyContent();
    const { digest: inner } = putImage(content, undefined);
    const body = `{"manifests":[{${entry},"platform":{"os":"${os}","architecture":"amd64"}}]}`.replace('DIGEST', inner);
    const digest = sha256(body);
    content.manifests.set(digest, { type: ociIndex, body });
    const server = await rig.serve(serveContent(content));
    const error = await failureOf(rig.registry().describe({ reference: at(server), digest, platform: linux }));
    expect(error).toMatchObject({ code: 'registry-invalid', message: expect.stringContaining('in capitals') });
  });

  test('takes any name of an annotation or a label, and refuses a config with two readings', async () => {
    const content = emptyContent();
    const put = (config: string) => {
      content.blobs.set(sha256(config), config);
      return putManifest(content, undefined, ociManifest, {
        ...{
          schemaVersion: 2,
          mediaType: ociManifest,
          layers: [],
          annotations: { OS: 'x', digeſt: 'y', Config: '"{[' },
        },
        config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: sha256(config), size: 1 },
      });
    };
    const labels = '"Labels":{"Env":"1","env":"2","org.opencontainers.image.version":"1.0","a\\"b":"\\\\"}';
    const good = put(`{"os":"linux","architecture":"amd64","config":{${labels}}}`);
    const twice = put(`{"os":"linux","architecture":"amd64","config":{${labels}},"config":{}}`);
    const server = await rig.serve(serveContent(content));
    const of = (digest: Digest) => rig.registry().describe({ reference: at(server), digest, platform: linux });
    expect(await of(good)).toMatchObject({
      labels: { 'org.opencontainers.image.version': '1.0' },
      platform: linux,
    });
    expect((await failureOf(of(twice))).message).toContain(
      'its image config can be read in two ways: "config" is given twice',
    );
  });

  test('follows an index to the config of the platform, and asks once for what never changes', async () => {
    const content = emptyContent();
    const amd = putImage(content, undefined, { architecture: 'amd64' });
    const arm = putImage(content, undefined, { architecture: 'arm64', variant: 'v8', created: '2026-02-03T04:05:06Z' });
    const digest = putIndex(content, 'team/app:1', [amd, arm]);
    const server = await rig.serve(serveContent(content));
    const registry = rig.registry();
    const request = { reference: at(server), digest, platform: { os: 'linux', architecture: 'arm64', variant: '' } };
    const expected = {
      digest,
      manifestDigest: arm.digest,
      configDigest: arm.configDigest,
      platform: { os: 'linux', architecture: 'arm64', variant: 'v8' },
      createdAtMs: Date.UTC(2026, 1, 3, 4, 5, 6),
    };
    expect(await Promise.all([registry.describe(request), registry.describe(request)])).toEqual([expected, expected]);
    expect(await registry.describe(request)).toEqual(expected);
    expect(server.lines()).toEqual([
      `GET /v2/team/app/manifests/${digest}`,
      `GET /v2/team/app/manifests/${arm.digest}`,
      `GET /v2/team/app/blobs/${arm.configDigest}`,
    ]);
  });

  test('takes a manifest without an index as it is, whatever its platform', async () => {
    const content = emptyContent();
    const arm = putImage(content, 'team/app:1', { architecture: 'arm64' });
    const server = await rig.serve(serveContent(content));
    const found = await rig.registry().describe({ reference: at(server), digest: arm.digest, platform: linux });
    expect(found).toMatchObject({
      digest: arm.digest,
      manifestDigest: arm.digest,
      platform: { architecture: 'arm64' },
    });
  });

  test('says which platforms there are, when the wanted one is not among them', async () => {
    const content = emptyContent();
    const images = ['arm64', 's390x'].map((architecture) => putImage(content, undefined, { architecture }));
    const attestation = {
      ...putImage(content, undefined, { label: 'a' }),
      spec: { os: 'unknown', architecture: 'unknown' },
    };
    const digest = putIndex(content, 'team/app:1', [...images, attestation]);
    const server = await rig.serve(serveContent(content));
    const error = await failureOf(rig.registry().describe({ reference: at(server), digest, platform: linux }));
    expect(error.code).toBe('registry-not-found');
    expect(error.message).toContain('it has no image for linux/amd64, only for linux/arm64, linux/s390x');
  });

  test('follows indexes in an index, and looks for the platform where an entry does not name it', async () => {
    const content = emptyContent();
    const [amd, arm] = ['amd64', 'arm64'].map((architecture) => putImage(content, undefined, { architecture }));
    if (amd === undefined || arm === undefined) throw new Error('no images');
    const bare = (mediaType: string, ...digests: readonly string[]) =>
      putManifest(content, undefined, ociIndex, {
        schemaVersion: 2,
        mediaType: ociIndex,
        manifests: digests.map((digest) => ({ mediaType, digest, size: 1 })),
      });
    const nested = bare(ociIndex, putIndex(content, 'team/app:arm', [arm]), putIndex(content, 'team/app:amd', [amd]));
    const unnamed = bare(ociManifest, arm.digest, amd.digest);
    const server = await rig.serve(serveContent(content));
    const registry = rig.registry();
    for (const digest of [nested, unnamed])
      expect(await registry.describe({ reference: at(server), digest, platform: linux })).toMatchObject({
        digest,
        manifestDigest: amd.digest,
        configDigest: amd.configDigest,
      });
    const onlyArm = bare(ociManifest, arm.digest);
    const found = await registry.describe({ reference: at(server), digest: onlyArm, platform: linux });
    expect(found).toMatchObject({ platform: { architecture: 'arm64' } });
    expect(await registry.platformsOf(at(server), nested)).toEqual([
      { os: 'linux', architecture: 'arm64', variant: '' },
      { os: 'linux', architecture: 'amd64', variant: '' },
    ]);
  });

  test('of an index that leads to very many others says so', async () => {
    const content = emptyContent();
    let digest = putIndex(content, 'team/app:0', [putImage(content, undefined)]);
    for (let depth = 0; depth < 10; depth += 1)
      digest = putManifest(content, undefined, ociIndex, {
        schemaVersion: 2,
        mediaType: ociIndex,
        manifests: [{ mediaType: ociIndex, digest, size: 1 }],
      });
    const server = await rig.serve(serveContent(content));
    const error = await failureOf(rig.registry().describe({ reference: at(server), digest, platform: linux }));
    expect(error.code).toBe('registry-invalid');
    expect(error.message).toContain('its index leads to too many other manifests');
    expect(server.seen.length).toBeLessThanOrEqual(8);
  });

  test('takes an image that names no system and no architecture for one that runs anywhere', async () => {
    const content = emptyContent();
    const { digest } = putImage(content, 'team/app:1', { os: '', architecture: '', hasLayers: true });
    const empty = putImage(content, 'team/app:2', { os: '', architecture: '' });
    const server = await rig.serve(serveContent(content));
    const registry = rig.registry();
    const found = await registry.describe({ reference: at(server), digest, platform: linux });
    expect(found.platform).toEqual({ os: '', architecture: '', variant: '' });
    const nothing = await registry.describe({ reference: at(server), digest: empty.digest, platform: linux });
    expect(nothing.platform).toBeUndefined();
    expect(await registry.platformsOf(at(server), digest)).toEqual([]);
  });

  test.each([
    ['1970-01-01T00:00:00Z', undefined],
    ['1980-01-01T00:00:01Z', undefined],
    ['yesterday', undefined],
    ['2019-05-06T07:08:09', undefined],
    ['2019-05-06T07:08:09Z', Date.UTC(2019, 4, 6, 7, 8, 9)],
    ['2019-05-06T07:08:09.987654321+02:00', Date.UTC(2019, 4, 6, 5, 8, 9, 987)],
  ])('reads a build time of %s', async (created, createdAtMs) => {
    const content = emptyContent();
    const { digest } = putImage(content, 'team/app:1', { created });
    const server = await rig.serve(serveContent(content));
    const found = await rig.registry().describe({ reference: at(server), digest, platform: linux });
    expect(found.createdAtMs).toBe(createdAtMs);
  });

  test('does not fetch the config of what is no image', async () => {
    const content = emptyContent();
    const { digest } = putImage(content, 'team/app:1', { configType: 'application/vnd.cncf.helm.config.v1+json' });
    const server = await rig.serve(serveContent(content));
    const found = await rig.registry().describe({ reference: at(server), digest, platform: linux });
    expect(found).toMatchObject({ platform: undefined, createdAtMs: undefined });
    expect(server.lines().length).toBe(1);
  });

  test('of one digest in two registries at once, asks each registry for its own', async () => {
    const content = emptyContent();
    const { digest } = putImage(content, 'team/app:1');
    const broken = await rig.serve(() => ({ status: 400 }));
    const server = await rig.serve(serveContent(content));
    const registry = rig.registry();
    const requests = [broken, server].map((each) => ({ reference: at(each), digest, platform: linux }));
    const [failed, found] = await Promise.allSettled(requests.map((request) => registry.describe(request)));
    expect(failed?.status).toBe('rejected');
    expect(found).toMatchObject({ status: 'fulfilled', value: { digest } });
  });

  test('refuses content that is not what its digest says, for manifests and configs', async () => {
    const content = emptyContent();
    const { digest, configDigest } = putImage(content, 'team/app:1');
    for (const tampered of ['manifests', 'blobs']) {
      const server = await rig.serve((request) => {
        const reply = serveContent(content)(request);
        if (typeof reply === 'string' || !request.url.includes(tampered)) return reply;
        return { ...reply, headers: {}, body: `${reply.body?.toString() ?? ''} ` };
      });
      const error = await failureOf(rig.registry().describe({ reference: at(server), digest, platform: linux }));
      expect(error.code).toBe('registry-invalid');
      expect(error.message).toContain(
        `its content does not have the digest ${tampered === 'blobs' ? configDigest : digest}`,
      );
    }
  });

  test.each([
    ['an index and an image at once', undefined, { manifests: [], config: { digest: sha256('c') }, layers: [] }],
    ['neither', undefined, { schemaVersion: 2 }],
    ['an index that says it is an image', ociManifest, { manifests: [] }],
    ['an image that says it is an index', dockerList, { config: { digest: sha256('c') }, layers: [] }],
  ])('refuses a manifest that is %s', async (_, mediaType, manifest) => {
    const content = emptyContent();
    const digest = putManifest(content, 'team/app:1', 'application/json', { mediaType, ...manifest });
    const server = await rig.serve(serveContent(content));
    const error = await failureOf(rig.registry().describe({ reference: at(server), digest, platform: linux }));
    expect(error.code).toBe('registry-invalid');
    expect(error.message).toContain('its manifest contradicts itself');
  });

  test.each([
    ['names no digest', { config: { digest: 'sha256:short' }, layers: [] }, 'contains an invalid digest'],
    ['is of schema 1', { schemaVersion: 1, fsLayers: [] }, 'outdated manifest format'],
  ])('refuses a manifest that %s', async (_, manifest, why) => {
    const content = emptyContent();
    const digest = putManifest(content, 'team/app:1', ociManifest, manifest);
    const server = await rig.serve(serveContent(content));
    const error = await failureOf(rig.registry().describe({ reference: at(server), digest, platform: linux }));
    expect(error.code).toBe('registry-invalid');
    expect(error.message).toContain(why);
  });
});
