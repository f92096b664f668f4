import { afterEach, describe, expect, test } from 'vitest';
import type { TrackedContainer } from '../../src/domain/inventory.ts';
import { apiToken, type HttpScene, startHttp } from '../support/http/http-scene.ts';
import { createScriptedService } from '../support/http/scripted-service.ts';
import { startWholeService } from '../support/http/whole-service.ts';
import { aTrackedContainer } from '../support/scene/tracked-container.ts';
import { describedAsk, startDescribed } from './described/described.ts';

let scene: HttpScene;
afterEach(() => scene.stop());

const digest = (letter: string) => `sha256:${letter.repeat(64)}`;

/** One of each: up to date, a newer digest, three steps of a tag policy, failed, not yet checked. */
const containers: readonly TrackedContainer[] = [
  { name: 'fine', image: 'nginx:1.27', staleness: 'fresh' as const },
  {
    name: 'digest',
    image: 'ghcr.io/acme/api:2',
    staleness: 'stale' as const,
    latestDigest: digest('b'),
    candidate: 'ghcr.io/acme/api:2',
    candidateKind: 'digest' as const,
  },
  ...(['major', 'minor', 'patch'] as const).map((kind, index) => ({
    name: kind,
    image: 'quay.io/acme/db:v1.2.3',
    engine: `host${index}`,
    staleness: index === 0 ? ('held' as const) : ('stale' as const),
    latestDigest: digest('c'),
    candidate: `quay.io/acme/db:v${kind === 'major' ? '2.0.0' : kind === 'minor' ? '1.3.0' : '1.2.4'}`,
    candidateKind: kind,
    project: 'shop',
    composeService: 'db',
  })),
  { name: 'failed', image: 'hub.acme.test:5000/tool:latest', staleness: 'unknown' as const, reason: 'No answer' },
  { name: 'new', image: 'toString/odd:1', staleness: undefined },
].map((parts, index) =>
  aTrackedContainer({
    id: `${index}`.repeat(64),
    updateAvailable: parts.staleness === 'stale' || parts.staleness === 'held',
    checkedAtMs: Date.UTC(2026, 0, 1) + index,
    ...parts,
  }),
);

async function start(settings: object = {}): Promise<void> {
  const service = createScriptedService();
  service.script.inventory = { revision: 1, containers, images: [] };
  scene = await startDescribed({ settings }, service);
}

const basic = { authorization: `Basic ${Buffer.from(`anyone:${apiToken}`).toString('base64')}` };

/** The requests of widgets, and what each makes of the answer, as their sources do. */
const widgets = {
  async "Homepage, What's Up Docker"() {
    const list = (await scene.ask('/api/containers', { token: null, headers: basic })).json();
    const updates = list.filter((container: { updateAvailable: boolean }) => container.updateAvailable);
    return { monitoring: list.length, updates: updates.length };
  },
  async 'Homepage, Cup by its customapi'() {
    const { metrics } = (await scene.ask('/api/v3/json')).json();
    const { monitored_images, up_to_date, updates_available, unknown } = metrics;
    return { monitored_images, up_to_date, updates_available, unknown };
  },
  async 'Glance, wud-monitor'() {
    const list = (await scene.ask('/api/containers/')).json();
    return list.map((container: Record<string, never>) => {
      const { name, status, watcher, image, updateAvailable, updateKind } = container as never as WudContainer;
      const shown = updateAvailable ? `${updateKind.localValue} > ${updateKind.remoteValue}` : '';
      return [name, status, watcher, image.registry.name, image.name, image.digest.repo, updateKind.semverDiff, shown];
    });
  },
  async 'Glance, cup-updates'() {
    const { metrics, images } = (await scene.ask('/api/v3/json')).json();
    return {
      counts: [
        'monitored_images',
        'up_to_date',
        'updates_available',
        'major_updates',
        'minor_updates',
        'patch_updates',
        'other_updates',
        'unknown_updates',
      ].map((name) => metrics[name]),
      updates: images
        .filter(({ result }: CupImage) => result.has_update === true)
        .map(({ parts, result }: CupImage) =>
          result.info?.type === 'version'
            ? `${parts.repository} ${result.info.current_version} > ${result.info.new_version}`
            : `${parts.repository} ${result.info?.local_digests?.length} digest`,
        ),
      failed: images
        .filter(({ result }: CupImage) => result.error !== null)
        .map(({ reference }: CupImage) => reference),
    };
  },
} as const;

type WudContainer = {
  readonly name: string;
  readonly status: string;
  readonly watcher: string;
  readonly image: {
    readonly name: string;
    readonly registry: { readonly name: string };
    readonly digest: { readonly repo: string };
  };
  readonly updateAvailable: boolean;
  readonly updateKind: { readonly semverDiff?: string; readonly localValue?: string; readonly remoteValue?: string };
};

type CupImage = {
  readonly reference: string;
  readonly parts: { readonly repository: string };
  readonly result: {
    readonly has_update: boolean | null;
    readonly error: string | null;
    readonly info: null | {
      readonly type: string;
      readonly current_version?: string;
      readonly new_version?: string;
      readonly local_digests?: readonly string[];
    };
  };
};

describe('a widget', () => {
  test("Homepage's of What's Up Docker counts containers and updates", async () => {
    await start();
    expect(await widgets["Homepage, What's Up Docker"]()).toEqual({ monitoring: 7, updates: 4 });
  });

  test("Homepage's of Cup counts images", async () => {
    await start();
    expect(await widgets['Homepage, Cup by its customapi']()).toEqual({
      monitored_images: 7,
      up_to_date: 1,
      updates_available: 4,
      unknown: 2,
    });
  });

  test("Glance's wud-monitor shows each container and the step of its update", async () => {
    await start();
    const own = digest('a');
    expect(await widgets['Glance, wud-monitor']()).toEqual([
      ['fine', 'running', 'local', 'hub.public', 'library/nginx', own, 'unknown', ''],
      ['digest', 'running', 'local', 'ghcr.public', 'acme/api', own, 'unknown', `${own} > ${digest('b')}`],
      ['major', 'running', 'host0', 'quay.public', 'acme/db', own, 'major', 'v1.2.3 > v2.0.0'],
      ['minor', 'running', 'host1', 'quay.public', 'acme/db', own, 'minor', 'v1.2.3 > v1.3.0'],
      ['patch', 'running', 'host2', 'quay.public', 'acme/db', own, 'patch', 'v1.2.3 > v1.2.4'],
      ['failed', 'running', 'local', 'custom', 'tool', own, 'unknown', ''],
      ['new', 'running', 'local', 'custom', 'odd', own, 'unknown', ''],
    ]);
    expect((await scene.ask('/api/containers/watch')).json()).toHaveLength(7);
  });

  test("Glance's cup-updates shows counts, updates and failures", async () => {
    await start();
    expect(await widgets['Glance, cup-updates']()).toEqual({
      counts: [7, 1, 4, 1, 1, 1, 1, 2],
      updates: ['acme/api 1 digest', 'acme/db 1.2.3 > 2.0.0', 'acme/db 1.2.3 > 1.3.0', 'acme/db 1.2.3 > 1.2.4'],
      failed: ['hub.acme.test:5000/tool:latest'],
    });
  });

  test('of Cup gets one image for several containers of it, with its update', async () => {
    const service = createScriptedService();
    const web = { image: 'nginx:1.27', staleness: 'fresh' as const };
    service.script.inventory = {
      revision: 1,
      images: [],
      containers: [
        aTrackedContainer({ ...web, name: 'one' }),
        aTrackedContainer({
          ...web,
          name: 'two',
          staleness: 'stale',
          updateAvailable: true,
          latestDigest: digest('b'),
        }),
      ],
    };
    scene = await startDescribed({}, service);
    const { images, metrics } = (await scene.ask('/api/v3/json')).json();
    expect(metrics).toMatchObject({ monitored_images: 1, updates_available: 1, other_updates: 1, up_to_date: 0 });
    expect(images).toEqual([
      {
        reference: 'nginx:1.27',
        parts: { registry: 'registry-1.docker.io', repository: 'library/nginx', tag: '1.27' },
        url: null,
        result: {
          has_update: true,
          info: { type: 'digest', local_digests: [digest('a')], remote_digest: digest('b') },
          error: null,
        },
        time: 0,
        server: null,
        in_use: true,
      },
    ]);
  });
});

describe('access', () => {
  test.each(['/api/containers', '/api/containers/', '/api/v3/json', `/api/containers/${'0'.repeat(64)}`])(
    '%s needs the API token, as a bearer or as a password',
    async (path) => {
      await start();
      expect((await scene.ask(path, { token: null })).status).toBe(401);
      expect((await scene.ask(path, { token: `${apiToken}x` })).status).toBe(401);
      const wrong = { authorization: `Basic ${Buffer.from(`${apiToken}:wrong`).toString('base64')}` };
      expect((await scene.ask(path, { token: null, headers: wrong })).status).toBe(401);
      expect((await scene.ask(path, { token: null, headers: basic })).status).toBe(200);
      expect((await scene.ask(path)).status).toBe(200);
      expect((await scene.ask(path, { method: 'HEAD' })).status).toBe(200);
    },
  );

  describe('a changing request with a password', () => {
    const listed = { corsOrigins: ['https://ha.example.com'] };
    const press = (headers: Readonly<Record<string, string>>) =>
      scene.ask('/api/containers/watch', { method: 'POST', token: null, headers: { ...basic, ...headers } });

    test.each<[string, Readonly<Record<string, string>>]>([
      ['names another origin', { origin: 'https://evil.example' }],
      ['names no origin that can be shown', { origin: 'null' }],
      ['is of another site, in the words of the browser', { 'sec-fetch-site': 'cross-site' }],
      ['is of a neighbour', { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:1' }],
    ])('is refused if it %s', async (_, headers) => {
      await start();
      const { status, json } = await press(headers);
      expect([status, json().error]).toEqual([403, expect.stringContaining('a page elsewhere')]);
      expect((await scene.ask('/api/containers', { token: null, headers: { ...basic, ...headers } })).status).toBe(200);
      expect((await scene.ask('/api/containers/watch', { method: 'POST', headers })).status).toBe(200);
    });

    test.each<[string, object, Readonly<Record<string, string>>]>([
      ['of a program', {}, {}],
      ['of a page of this host', {}, { origin: 'http://HOST', 'sec-fetch-site': 'same-origin' }],
      [
        'of a page of this host behind a proxy that replaces the host',
        {},
        { origin: 'https://upkeep.example.com', 'sec-fetch-site': 'same-origin' },
      ],
      ['of a page of this host in an old browser', {}, { origin: 'http://HOST' }],
      ['of a listed origin', listed, { origin: 'https://ha.example.com', 'sec-fetch-site': 'cross-site' }],
    ])('is served if it is %s', async (_, settings, given) => {
      await start(settings);
      const host = new URL(scene.url).host;
      const headers = Object.fromEntries(
        Object.entries(given).map(([name, text]) => [name, text.replace('HOST', host)]),
      );
      expect((await press(headers)).status).toBe(200);
    });

    test('is refused to the pages of all origins, who need no listing to read', async () => {
      await start({ corsOrigins: ['*'] });
      expect((await press({ origin: 'https://evil.example' })).status).toBe(403);
    });
  });

  test('a password opens these paths only', async () => {
    await start();
    expect((await scene.ask('/v1/containers', { token: null, headers: basic })).status).toBe(401);
    expect((await scene.ask('/v1/update', { method: 'POST', token: null, headers: basic })).status).toBe(401);
  });

  test('without the group there are no such paths', async () => {
    scene = await startHttp(createScriptedService(), { settings: { groups: ['containers', 'update', 'check'] } });
    for (const path of ['/api/containers', '/api/containers/', '/api/v3/json'])
      expect((await scene.ask(path)).status).toBe(404);
  });

  test('only labels that cards show are shown', async () => {
    await start();
    const [, , major] = (await scene.ask('/api/containers')).json();
    expect(major.labels).toEqual({ 'com.docker.compose.project': 'shop', 'com.docker.compose.service': 'db' });
  });
});

/** wud-card of Home Assistant: the list, a check, and the button of a container. */
describe('wud-card', () => {
  const readList = async () => {
    // It asks a newer version first.
    expect((await scene.ask('/api/v1/containers')).status).toBe(404);
    return (await scene.ask('/api/containers')).json() as {
      id: string;
      name: string;
      identityKey: string;
      displayName: string;
      image: { name: string; tag: { value: string } };
      result?: { tag: string };
      updateAvailable: boolean;
    }[];
  };

  test('shows the versions, checks and updates', async () => {
    const whole = await startWholeService();
    scene = whole;
    const ask = await describedAsk(whole);
    whole.publish('nginx:1.27', '1');
    await whole.run('we.b', 'nginx:1.27');
    await whole.run('weib', 'nginx:1.27');
    const newer = whole.publish('nginx:1.27', '2');
    await until(async () => (await readList()).length === 2);
    expect((await readList())[0]).toMatchObject({ updateAvailable: false });

    const checked = (await ask('/api/containers/watch', { method: 'POST' })).json();
    const web = checked.find(({ name }: { name: string }) => name === 'we.b');
    expect(web).toMatchObject({
      displayName: 'we.b',
      identityKey: 'local_we.b',
      updateAvailable: true,
      result: { tag: '1.27', digest: newer },
      image: { name: 'library/nginx', tag: { value: '1.27' } },
    });
    const triggers = (await ask(`/api/containers/${web.id}/triggers`)).json();
    expect(triggers).toEqual([{ id: 'upkeep.update', type: 'upkeep', name: 'update' }]);
    const [{ type, name }] = triggers;
    const rehearsed = await scene.ask(`/api/containers/${web.id}/triggers/${type}/${name}?dryRun=1`, {
      method: 'POST',
    });
    expect([rehearsed.status, rehearsed.json().error]).toEqual([400, expect.stringContaining('cannot be rehearsed')]);
    const pressed = await ask(`/api/containers/${web.id}/triggers/${type}/${name}/local`, { method: 'POST' });
    expect([pressed.status, pressed.json()]).toEqual([200, {}]);
    await until(async () => (await readList()).some((each) => each.name === 'we.b' && each.id !== web.id));
    // A name is no pattern.
    const other = checked.find((each: { name: string }) => each.name === 'weib');
    expect((await ask(`/api/containers/${other.id}`)).json()).toMatchObject({ name: 'weib', updateAvailable: true });
    expect((await ask(`/api/containers/${web.id}`)).status).toBe(404);
  });

  test('has no button without the group update, and no check without the group check', async () => {
    await start({ groups: ['compat'] });
    const id = (await readList())[0]?.id ?? '';
    expect((await scene.ask(`/api/containers/${id}/triggers`)).json()).toEqual([]);
    const pressed = await scene.ask(`/api/containers/${id}/triggers/upkeep/update`, { method: 'POST' });
    expect(pressed.status).toBe(403);
    expect(pressed.json().error).toBe('the group "update" is not enabled: add it to --http-api-endpoints');
    const watched = await scene.ask('/api/containers/watch', { method: 'POST' });
    expect(watched.status).toBe(403);
    expect(watched.json().error).toBe('the group "check" is not enabled: add it to --http-api-endpoints');
  });

  test.each(['triggers/docker/update', 'triggers/upkeep', 'triggers', '', 'nonsense'])(
    'a POST to %j of a container does nothing',
    async (part) => {
      await start();
      const id = (await readList())[0]?.id ?? '';
      expect((await scene.ask(`/api/containers/${id}/${part}`, { method: 'POST' })).status).toBe(404);
    },
  );
});

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 10));
}
