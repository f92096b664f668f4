import { describe, expect, test } from 'vitest';
import { connectedEngine } from '../../../../test/support/engine/connected-engine.ts';
import { type Answer, refuse } from '../../../../test/support/engine/scripted-engine.ts';

describe('images', () => {
  test('have no tags, digests and labels where the engine writes <none>, or nothing', async () => {
    const images = [
      { Id: 'sha256:1', RepoTags: ['app:1', 'app:2'], RepoDigests: ['app@sha256:a'], Labels: { tier: 'web' } },
      { Id: 'sha256:2', RepoTags: ['<none>:<none>'], RepoDigests: ['<none>@<none>'] },
      { Id: 'sha256:3', RepoTags: null, Created: 1_700_000_000 },
    ];
    const { engine } = await connectedEngine({ script: { 'GET /images/json': images } });
    expect(await engine.listImages()).toEqual([
      { id: 'sha256:1', tags: ['app:1', 'app:2'], digests: ['app@sha256:a'], labels: { tier: 'web' } },
      { id: 'sha256:2', tags: [], digests: [], labels: {} },
      { id: 'sha256:3', tags: [], digests: [], labels: {}, createdAtMs: 1_700_000_000_000 },
    ]);
  });

  test('are found by a reference whose slashes stay slashes', async () => {
    const { engine, server } = await connectedEngine({
      script: {
        '*': { Id: 'sha256:1', Os: 'linux', Architecture: 'arm', Variant: 'v7', Created: '2026-01-01T00:00:00Z' },
      },
    });
    const image = await engine.inspectImage('registry.test:5000/team/app@sha256:a');
    expect(image).toMatchObject({ os: 'linux', architecture: 'arm', variant: 'v7', createdAtMs: Date.UTC(2026, 0, 1) });
    expect(server.requests[0]?.path).toBe('/images/registry.test%3A5000/team/app%40sha256%3Aa/json');
  });

  test('tell which manifests of an index the engine has, and none where it does not tell', async () => {
    const digest = (letter: string) => `sha256:${letter.repeat(64)}`;
    const manifest = (letter: string, more: object) => ({ ID: 'x', Descriptor: { digest: digest(letter) }, ...more });
    const Manifests = [
      manifest('a', { Available: true, Kind: 'image' }),
      manifest('b', { Available: false, Kind: 'image' }),
      manifest('c', { Available: true, Kind: 'attestation' }),
      manifest('d', { Available: true, Kind: 'unknown' }),
      { Available: true, Kind: 'image', Descriptor: { digest: 'sha256:x' } },
    ];
    const { engine, server } = await connectedEngine({ script: { '*': { Id: 'sha256:1', Manifests } } });
    expect(await engine.manifestsIn('sha256:1')).toEqual([digest('a'), digest('d')]);
    expect(server.requests[0]).toMatchObject({ path: '/images/sha256%3A1/json', query: { manifests: '1' } });
    const older = await connectedEngine({ script: { '*': { Id: 'sha256:1' } } });
    expect(await older.engine.manifestsIn('sha256:1')).toEqual([]);
  });

  test('are told apart from those whose configuration the engine does not know', async () => {
    const unknown = { Id: 'sha256:1', Architecture: '', Os: '', RootFS: {}, Config: { Env: null, Labels: null } };
    const epoch = { ...unknown, Id: 'sha256:2', Architecture: 'amd64', Os: 'linux', RootFS: { Layers: ['x'] } };
    const bare = { ...unknown, Id: 'sha256:3', RootFS: { Layers: ['x'] } };
    const listed = [unknown, epoch, bare].map(({ Id }) => ({ Id, Created: 0, Labels: null }));
    const named = { Id: 'sha256:4', Created: 0, Labels: { tier: 'web' } };
    const { engine, server } = await connectedEngine({
      script: {
        'GET /images/json': [...listed, named],
        'GET /images/sha256%3A1/json': unknown,
        'GET /images/sha256%3A2/json': epoch,
        'GET /images/sha256%3A3/json': bare,
        'GET /containers/web/json': {
          Id: 'c',
          Name: '/web',
          Image: 'sha256:1',
          Config: { Labels: { 'upkeep.verify': 'off' } },
        },
      },
    });
    const images = await engine.listImages();
    expect(images.map(({ isConfigUnknown }) => isConfigUnknown === true)).toEqual([true, false, false, false]);
    expect(server.requests.map(({ path }) => path)).not.toContain('/images/sha256%3A4/json');
    expect(await engine.inspectImage('sha256:1')).toMatchObject({ isConfigUnknown: true });
    expect(await engine.inspectContainer('web')).not.toHaveProperty('imageLabels');
  });

  test.each([
    [{ architecture: 'amd64' }, { Architecture: 'amd64' }, true],
    [{ architecture: 'arm64', variant: 'v8' }, { Architecture: 'arm64' }, true],
    [{ architecture: 'arm', variant: 'v6' }, { Architecture: 'arm' }, true],
    [{ architecture: '386' }, { Architecture: 'amd64' }, false],
    [{ architecture: 'amd64' }, { Architecture: 'arm64', Variant: 'v8' }, false],
    [{ architecture: 'amd64' }, { Architecture: 'amd64', Variant: 'v3' }, false],
    [{ architecture: 'arm', variant: 'v6' }, { Architecture: 'arm', Variant: 'v7' }, false],
  ])('give their labels to a container of %j if they are shown for it: %j', async (run, shown, isSame) => {
    const id = `sha256:${'1'.repeat(64)}`;
    const image = { Id: id, Os: 'linux', RootFS: { Layers: ['x'] }, Config: { Labels: { tier: 'web' } }, ...shown };
    const descriptor = { digest: `sha256:${'2'.repeat(64)}`, platform: { os: 'linux', ...run } };
    const container = { Id: 'c', Name: '/web', Image: id, Config: {}, ImageManifestDescriptor: descriptor };
    const script = { [`GET /images/${encodeURIComponent(id)}/json`]: image, 'GET /containers/web/json': container };
    for (const isNoted of [false, true]) {
      const { engine } = await connectedEngine({ script });
      if (isNoted) await engine.inspectImage(id);
      const labels = (await engine.inspectContainer('web'))?.imageLabels;
      expect(labels).toEqual(isSame ? { tier: 'web' } : undefined);
    }
  });

  test('are asked for one after another where many may be without a configuration, and the rest stays unknown', async () => {
    const many = Array.from({ length: 5_000 }, (_, at) => ({ Id: `sha256:${at}`, Created: 0, Labels: null }));
    const pending: (() => void)[] = [];
    let most = 0;
    const inspected: Answer = ({ path }, response) => {
      pending.push(
        () =>
          void response.end(JSON.stringify({ Id: decodeURIComponent(path.split('/')[2]!), Os: 'linux', RootFS: {} })),
      );
      most = Math.max(most, pending.length);
      setImmediate(() => pending.shift()?.());
    };
    const { engine, server } = await connectedEngine({ script: { 'GET /images/json': many, '*': inspected } });
    const images = await engine.listImages();
    const unknown = images.filter(({ isConfigUnknown }) => isConfigUnknown === true);
    expect(unknown.map(({ id }) => id)).toEqual(many.slice(1_000).map(({ Id }) => Id));
    expect(server.requests).toHaveLength(1_001);
    expect(most).toBeLessThanOrEqual(8);
  });

  test('are undefined where there is none', async () => {
    const { engine } = await connectedEngine({
      script: { '*': (_, response) => refuse(response, 404, 'No such image: x') },
    });
    expect(await engine.inspectImage('x')).toBeUndefined();
    expect(await engine.removeImage('x')).toEqual({ kind: 'noop' });
  });

  test('are removed without force', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': [] } });
    expect(await engine.removeImage('team/app:1')).toEqual({ kind: 'done' });
    expect(server.requests).toMatchObject([{ method: 'DELETE', path: '/images/team/app%3A1', query: { force: '0' } }]);
  });

  test('are tagged by repository and tag; what cannot be a tag is refused unsent', async () => {
    const { engine, server } = await connectedEngine({
      script: { '*': (_, response) => void response.writeHead(201).end() },
    });
    expect(await engine.tagImage('sha256:1', 'registry.test:5000/team/app:1')).toEqual({ kind: 'done' });
    expect(await engine.tagImage('sha256:1', `app@sha256:${'a'.repeat(64)}`)).toMatchObject({
      kind: 'refused',
      status: 400,
    });
    expect(await engine.tagImage('sha256:1', 'NO SUCH')).toMatchObject({ kind: 'refused', status: 400 });
    expect(server.requests).toMatchObject([
      { path: '/images/sha256%3A1/tag', query: { repo: 'registry.test:5000/team/app', tag: '1' } },
    ]);
  });

  test.each([
    ['sha256:1', 'failed to create an image app:1 with target sha256:2 after deleting the existing one: AlreadyExists'],
    ['sha256:2', 'creating image app:1 failed because it already exists, but accessing it also failed: No such image'],
  ])('tagged %s by another call at the same time are tagged again, unless that was the same image', async (Id, why) => {
    const isOther = Id !== 'sha256:2';
    let lost = 0;
    const { engine, server } = await connectedEngine({
      script: {
        'POST /images/sha256%3A2/tag': (_, response) => {
          if (lost++ === 0) refuse(response, 500, why);
          else response.writeHead(201).end();
        },
        'GET /images/app%3A1/json': { Id },
      },
    });
    expect(await engine.tagImage('sha256:2', 'app:1')).toEqual({ kind: 'done' });
    expect(server.requests.filter(({ method }) => method === 'POST')).toHaveLength(isOther ? 2 : 1);
  });
});
