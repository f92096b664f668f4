import { describe, expect, test } from 'vitest';
import { aTrackedContainer } from '../../test/support/scene/tracked-container.ts';
import type { Inventory, TrackedContainer } from './inventory.ts';
import { entityOf, pictureOf, emptyRoster, entitiesOf, nextRoster } from './home-assistant.ts';
import { iconIn } from './image/image-source.ts';

const newer = `sha256:${'b'.repeat(64)}`;
const stale: Partial<TrackedContainer> = {
  staleness: 'stale',
  stale: true,
  updateAvailable: true,
  latestDigest: newer,
};
const empty: Inventory = {
  revision: 1,
  known: true,
  scope: '',
  unfinished: [],
  images: [],
  updatesAvailable: 1,
  containers: [],
};

function shown(inventory: Partial<Inventory>, underWay: readonly string[] = []) {
  const facts = { inventory: { ...empty, ...inventory }, unwatched: [], notes: new Map<string, string>() };
  const updates = new Map(underWay.map((key) => [key, undefined]));
  const now = { removedAtExit: new Set<string>(), isComplete: true, nowMs: 0, underWay: updates };
  return entitiesOf(nextRoster(emptyRoster, { ...facts, ...now }));
}

function entity(changes: Partial<TrackedContainer>, isRemovedAtExit = false) {
  return entityOf(aTrackedContainer(changes), { name: 'web', isRemovedAtExit });
}

test('a service and the container of the same name are two entities, and only one is updated', () => {
  const service = aTrackedContainer({ id: 's', kind: 'service' });
  const names = (containers: readonly TrackedContainer[]) =>
    shown({ containers }, ['web service']).containers.map(({ name, isUpdating }) => [name, isUpdating]);
  expect(names([aTrackedContainer(), service])).toEqual([
    ['web', false],
    ['web service', true],
  ]);
  expect(names([service])).toEqual([['web', true]]);
});

test('a service keeps its name while the container of the same name is replaced', () => {
  const containers = [aTrackedContainer({ id: 's', kind: 'service' })];
  const unfinished = [{ name: 'web', state: 'in progress', reason: '', image: 'nginx' }] as const;
  const { containers: entities, kept } = shown({ containers, unfinished });
  expect(entities.map(({ name }) => name)).toEqual(['web service']);
  expect(kept).toEqual(['web']);
});

describe('an entity whose container is absent for a moment', () => {
  const minute = 60_000;
  const [web, db] = [aTrackedContainer(), aTrackedContainer({ id: 'c2', name: 'db' })];
  /** The names of the entities after lists at these minutes. The list between two of them was the same. */
  const namesAfter = (
    lists: readonly (readonly [atMinute: number, containers: readonly TrackedContainer[], isComplete?: boolean])[],
  ) => {
    const facts = {
      unwatched: [],
      notes: new Map<string, string>(),
      removedAtExit: new Set<string>(),
      underWay: new Map(),
    };
    let roster = emptyRoster;
    for (const [at, containers, isComplete = true] of lists)
      roster = nextRoster(roster, { ...facts, inventory: { ...empty, containers }, isComplete, nowMs: at * minute });
    return entitiesOf(roster).containers.map(({ name }) => name);
  };

  test.each<readonly [string, Parameters<typeof namesAfter>[0]]>([
    [
      'after a quiet day',
      [
        [0, [web, db]],
        [1440, [db]],
      ],
    ],
    [
      'after a quiet day, for nine minutes',
      [
        [0, [web, db]],
        [1440, [db]],
        [1449, [db]],
      ],
    ],
    [
      'again and again',
      [
        [0, [web, db]],
        [60, [db]],
        [65, [web, db]],
        [300, [db]],
        [309, [db]],
      ],
    ],
    [
      'after a day in which the engine did not answer',
      [
        [0, [web, db]],
        [1, [], false],
        [1440, [db]],
        [1449, [db]],
      ],
    ],
    [
      'while the engine does not answer',
      [
        [0, [web, db]],
        [60, [db]],
        [65, [], false],
        [600, [], false],
      ],
    ],
  ])('stays, %s', (_, lists) => expect(namesAfter(lists)).toContain('web'));

  test.each<readonly [string, Parameters<typeof namesAfter>[0]]>([
    [
      'ten minutes after a quiet day',
      [
        [0, [web, db]],
        [1440, [db]],
        [1451, [db]],
      ],
    ],
    [
      'ten minutes after the engine answers again',
      [
        [0, [web]],
        [60, [], false],
        [600, [db]],
        [611, [db]],
      ],
    ],
  ])('is removed %s', (_, lists) => expect(namesAfter(lists)).toEqual(['db']));
});

describe('the versions', () => {
  test.each<[string, Partial<TrackedContainer>, installed: string | undefined, latest: string | undefined]>([
    ['before a check', { version: '1.27.3' }, '1.27.3', undefined],
    ['after a failed first check', { version: '1.27.3', staleness: 'unknown' }, '1.27.3', undefined],
    ['up to date', { version: '1.27.3', staleness: 'fresh' }, '1.27.3', '1.27.3'],
    ['a newer version', { ...stale, version: '1.2.0', latestVersion: '1.3.0' }, '1.2.0', '1.3.0'],
    [
      'of a tag without a number',
      { ...stale, image: 'a:latest', version: '9.9', latestVersion: '9.10' },
      '9.9',
      '9.10',
    ],
    ['with a prefix', { ...stale, version: 'v2.9', latestVersion: 'v2.10.1' }, 'v2.9', 'v2.10.1'],
    ['with a suffix', { ...stale, version: '4.0.14-ls34', latestVersion: '4.0.15-ls1' }, '4.0.14-ls34', '4.0.15-ls1'],
    ['held back', { ...stale, staleness: 'held', version: '1.2', latestVersion: '2.0' }, '1.2', '2.0'],
    [
      'the same version, built again',
      { ...stale, version: '1.2.0', latestVersion: '1.2.0' },
      '1.2.0 (aaaaaaaaaaaa)',
      '1.2.0 (bbbbbbbbbbbb)',
    ],
    [
      'an older version behind the tag',
      { ...stale, version: '1.3.0', latestVersion: '1.2.9' },
      '1.3.0 (aaaaaaaaaaaa)',
      '1.2.9 (bbbbbbbbbbbb)',
    ],
    [
      'of an image whose version is not known',
      { ...stale, version: 'aaaaaaaaaaaa', latestVersion: '1.27.4' },
      '1.27 (aaaaaaaaaaaa)',
      '1.27.4',
    ],
    ['words', { ...stale, version: 'noble', latestVersion: 'jammy' }, 'noble (aaaaaaaaaaaa)', 'jammy (bbbbbbbbbbbb)'],
    [
      'no version, with digests that look like numbers',
      {
        ...stale,
        image: 'a:latest',
        digest: `sha256:${'2'.repeat(64)}`,
        version: '222222222222',
        latestDigest: `sha256:${'1'.repeat(64)}`,
        latestVersion: '111111111111',
      },
      'latest (222222222222)',
      'latest (111111111111)',
    ],
    [
      'no version, up to date',
      { staleness: 'fresh', version: 'a'.repeat(12) },
      '1.27 (aaaaaaaaaaaa)',
      '1.27 (aaaaaaaaaaaa)',
    ],
    [
      'a higher tag',
      { ...stale, candidate: 'nginx:1.28', candidateKind: 'minor' },
      '1.27 (aaaaaaaaaaaa)',
      '1.28 (bbbbbbbbbbbb)',
    ],
    [
      'an image that only the engine has',
      { ...stale, noPull: true, digest: '', latestDigest: '', candidateDigest: newer },
      '1.27 (iiiiiiiiiiii)',
      '1.27 (bbbbbbbbbbbb)',
    ],
  ])('%s', (_, changes, installed, latest) => {
    const { installedVersion, latestVersion } = entity(changes);
    expect([installedVersion, latestVersion]).toEqual([installed, latest]);
  });
});

test.each<[Partial<TrackedContainer>, isRemovedAtExit: boolean, RegExp | undefined]>([
  [stale, false, undefined],
  [{ ...stale, staleness: 'held', hold: 'approval' }, false, undefined],
  [{ ...stale, staleness: 'held', hold: 'monitor-only', monitorOnly: true }, false, undefined],
  [{ staleness: 'pinned' }, false, /pinned to a digest/],
  [stale, true, /--rm/],
  [{ ...stale, self: true }, false, /Upkeep itself/],
])('the button of %j (--rm: %s)', (changes, isRemovedAtExit, why) => {
  const { notInstallable } = entity(changes, isRemovedAtExit);
  if (why === undefined) expect(notInstallable).toBeUndefined();
  else expect(notInstallable).toMatch(why);
});

test('the number of updates is unknown before a check, and so is its time', () => {
  const unchecked = [aTrackedContainer(), aTrackedContainer({ id: 'c2', name: 'db' })];
  expect(shown({ containers: unchecked })).toMatchObject({ updatesAvailable: undefined, lastCheckAtMs: undefined });
  const fresh = aTrackedContainer({ staleness: 'fresh', checkedAtMs: 5 });
  expect(shown({ containers: [fresh] })).toMatchObject({ updatesAvailable: 0, lastCheckAtMs: 5 });
  expect(shown({ containers: [fresh, aTrackedContainer({ ...stale, id: 'c2', name: 'db' })] })).toMatchObject({
    updatesAvailable: 1,
  });
});

describe('the picture', () => {
  test.each([
    ['lscr.io/linuxserver/sonarr:4', 'sonarr'],
    ['jellyfin/jellyfin', 'jellyfin'],
    ['ghcr.io/immich-app/immich-server:v2', 'immich'],
    ['someone/something:1', undefined],
    ['not a reference', undefined],
  ])('of %s is one that Home Assistant has, or none', (image, brand) => {
    expect(pictureOf({ image }).pictureUrl).toBe(brand && `https://brands.home-assistant.io/_/${brand}/icon.png`);
  });

  test.each([
    [{ 'net.unraid.docker.icon': 'https://example.com/a.png' }, 'https://example.com/a.png'],
    [
      { 'io.artifacthub.package.logo-url': 'https://example.com/b.svg', 'homepage.icon': 'x.png' },
      'https://example.com/b.svg',
    ],
    [{ 'homepage.icon': 'sonarr.png' }, undefined],
    [{ 'homepage.icon': 'javascript:alert(1)' }, undefined],
    [{ 'homepage.icon': 'https://user:secret@example.com/a.png' }, undefined],
    [{ 'homepage.icon': `https://example.com/${'a'.repeat(500)}` }, undefined],
  ])('is the icon that a label names: %j', (labels, icon) => {
    expect(iconIn(labels, undefined)).toBe(icon);
    expect(iconIn({}, labels)).toBe(icon);
    if (icon !== undefined) expect(pictureOf({ image: 'jellyfin', icon }).pictureUrl).toBe(icon);
  });
});
