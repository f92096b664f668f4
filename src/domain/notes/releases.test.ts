import { describe, expect, test } from 'vitest';
import { changelogReleases, reachesBack, releasesBetween, tagOfVersion, type Step } from './releases.ts';

const list = (...tags: readonly string[]) => tags.map((tag) => ({ tag, isPrerelease: false }));
const step = (from: string | undefined, to: string, more: Partial<Step> = {}): Step => ({
  from,
  to,
  names: ['web'],
  ...more,
});
const tagsOf = (releases: ReturnType<typeof list>, wanted: Step) =>
  releasesBetween(releases, wanted)?.releases.map(({ tag }) => tag);

describe('releasesBetween()', () => {
  test.each([
    ['the same tag', '1.37.2', ['1.37.2']],
    ['a date as a version', '2026.8.2', ['2026.8.2']],
    ['an image tag with v', 'v3.7.9', ['v3.7.9']],
    ['an image tag that is a moment', 'RELEASE.2025-10-15T17-29-55Z', ['RELEASE.2025-10-15T17-29-55Z']],
    ['a month with a zero', '2026.07.2', ['2026.07.2']],
    ['a git tag with v', '4.39.1', ['v4.39.1']],
    ['the plain one of two', '2.3.3', ['v2.3.3', '2.3.3']],
    ['a line of its own program', '0.33.2', ['cli/v0.33.2', 'v0.33.2', 'mcp/v0.33.2']],
    ['the name of the package', '1.50.0', ['n8n@1.50.0']],
    ['the word version', '2024.2.1', ['version/2024.2.1']],
    ['the wrapping of linuxserver.io', '4.0.19.2979-ls316', ['v4.0.19.2979']],
    ['the same wrapping', '4.0.17.2952-ls313', ['4.0.17.2952-ls313']],
    ['a library behind it', '5.2.3_v2.0.13-ls469', ['release-5.2.3']],
    ['a time of the build', 'v10.11.11-202606061137', ['v10.11.11']],
    ['a channel with a date', '2.3.1.0', ['v2.3.1.0_beta_2026-07-28']],
    ['a date and a commit', '240915-e1280b2fb', ['240915-e1280b2fb']],
    ['a base system behind it', '1.27.3-alpine3.20', ['v1.27.3']],
    ['a build number of semver', '1.2.3+build.5', ['v1.2.3']],
    ['a hyphen between name and version', '1.2.3', ['web-v1.2.3', 'lib-v1.2.3']],
  ])('finds the release of %s: %s', (_, version, tags) => {
    const [found] = tagsOf(list('unrelated', ...tags), step(undefined, version)) ?? [];
    expect(tags).toContain(found);
    expect(found).not.toMatch(/^(?:cli|mcp|lib)/);
    if (version === '2.3.3') expect(found).toBe('2.3.3');
  });

  test('takes those behind the running version up to the newer one, newest first, whatever their order', () => {
    const releases = list('v2.11.53', 'v3.7.9', 'v3.6.24', 'v3.7.8', 'v3.5.0', 'v3.8.0');
    expect(tagsOf(releases, step('3.6.0', '3.7.9'))).toEqual(['v3.7.9', 'v3.7.8', 'v3.6.24']);
    expect(tagsOf(releases, step('v3.5.0', 'v3.7.8'))).toEqual(['v3.7.8', 'v3.6.24']);
  });

  test('keeps to one line of tags and one way of counting', () => {
    expect(tagsOf(list('v3.14.0', 'v0.314.0', 'cli/v3.13.5', 'v3.13.0'), step('3.12.0', '3.14.0'))).toEqual([
      'v3.14.0',
      'v3.13.0',
    ]);
    expect(tagsOf(list('v2026.6.2', 'v34.0.0', 'v33.0.1'), step('33.0.0', '34.0.0'))).toEqual(['v34.0.0', 'v33.0.1']);
    expect(tagsOf(list('v2026.6.2'), step('33.0.0', '34.0.0'))).toBeUndefined();
    expect(tagsOf(list('v2.1', 'v2.1.1', 'v2.0', 'v2.2.0.7'), step('2.0', '2.1.1'))).toEqual(['v2.1.1', 'v2.1']);
  });

  test('tells pre-releases only of a pre-release', () => {
    const releases = [
      { tag: 'v2.0.0', isPrerelease: false },
      { tag: 'v2.0.0-rc.2', isPrerelease: true },
      { tag: 'v2.0.0-rc.1', isPrerelease: false },
    ];
    expect(tagsOf(releases, step('1.9.0', '2.0.0'))).toEqual(['v2.0.0']);
    expect(tagsOf(releases, step('2.0.0-rc.1', '2.0.0-rc.2'))).toEqual(['v2.0.0-rc.2']);
  });

  test('tells only of the newer version if the running one is no version, or a later one', () => {
    const releases = list('v2.0.0', 'v1.9.0', 'v1.8.0');
    for (const from of [undefined, 'a1b2c3d4e5f6', 'latest', '2.1.0'])
      expect(tagsOf(releases, step(from, '2.0.0'))).toEqual(['v2.0.0']);
  });

  test('follows the form that an owner wrote', () => {
    const releases = list('n8n@1.51.0', 'core@1.51.0', 'n8n@1.50.1', '1.51.0');
    expect(tagsOf(releases, step('1.50.0', '1.51.0', { tagForm: 'n8n@{version}' }))).toEqual([
      'n8n@1.51.0',
      'n8n@1.50.1',
    ]);
    expect(tagsOf(releases, step('1.50.0', '1.51.0', { tagForm: 'app-{version}' }))).toBeUndefined();
  });

  test('keeps twenty and counts the rest', () => {
    const releases = list(...Array.from({ length: 30 }, (_, at) => `v1.${at}.0`));
    expect(releasesBetween(releases, step('1.0.0', '1.29.0'))).toMatchObject({ more: 9, releases: { length: 20 } });
  });

  test('tells the versions between that were counted in the older way', () => {
    expect(tagsOf(list('v2024.1.0', 'v1.6.0', 'v1.5.0'), step('1.5.0', '2024.1.0'))).toEqual(['v2024.1.0', 'v1.6.0']);
    expect(tagsOf(list('v4.0.0.10', 'v3.0.10', 'v3.0.9'), step('3.0.9', '4.0.0.10'))).toEqual(['v4.0.0.10', 'v3.0.10']);
  });

  test('takes a tag with a usual word before its version for one of the same program', () => {
    expect(tagsOf(list('release-2.1.0', 'v2.0.0', 'version/1.9.0'), step('1.9.0', '2.1.0'))).toEqual([
      'release-2.1.0',
      'v2.0.0',
    ]);
  });

  test('says that others may be between where the tag of the newer version cannot be compared', () => {
    const form = { tagForm: 'app-php{version}' };
    const releases = list('app-php2.0.0', 'app-php1.9.9');
    expect(releasesBetween(releases, step('1.9.0', '2.0.0', form))).toMatchObject({
      releases: [{ tag: 'app-php2.0.0' }],
      lacksOlder: true,
    });
    expect(releasesBetween(releases, step(undefined, '2.0.0', form))).not.toHaveProperty('lacksOlder');
  });

  test('takes 2.9.0 for 2.9 where nothing is called so', () => {
    expect(tagsOf(list('v2.9.1', 'v2.9.0', 'v2.8.5'), step('2.8', '2.9'))).toEqual(['v2.9.0', 'v2.8.5']);
    expect(tagsOf(list('v3.0', 'v2.4'), step('2.4.0', '3.0.0'))).toEqual(['v3.0']);
    expect(tagsOf(list('v2.9.1', 'v2.9.0-rc.1'), step('2.8', '2.9'))).toBeUndefined();
    expect(tagsOf(list('v2.9.0', 'v2.9'), step(undefined, '2.9'))).toEqual(['v2.9']);
  });

  test('needs an older page while only a correction of an old version is listed', () => {
    const from = step('11.0.0', '12.1.0');
    expect(reachesBack(list('v12.1.0', 'v10.4.9', 'v12.0.1'), from)).toBe(false);
    expect(reachesBack(list('v12.1.0', 'v12.0.1', 'v10.4.9'), from)).toBe(false);
    expect(reachesBack(list('v12.1.0', 'v11.0.0', 'v12.0.1', 'v10.4.9'), from)).toBe(false);
    expect(reachesBack(list('v12.1.0', 'v12.0.1', 'v11.0.0'), from)).toBe(false);
    expect(reachesBack(list('v12.1.0', 'v10.4.9', 'v12.0.0', 'v11.6.0', 'v11.0.0'), from)).toBe(true);
    expect(reachesBack(list('v3.6.0', 'v2.11.2', 'v2.11.1', 'v2.11.0', 'v3.0.0'), step('2.11.0', '2.11.2'))).toBe(true);
    expect(reachesBack(list('2026.1.2', '2026.1.1', '2025.12.4'), step('2025.12.4', '2026.1.2'))).toBe(true);
  });

  test('needs no older page behind many versions that are older', () => {
    const old = Array.from({ length: 10 }, (_, at) => `v1.9.${9 - at}`);
    expect(reachesBack(list('v3.1.0', 'v3.0.1', ...old), step('2.0.0', '3.1.0'))).toBe(true);
  });

  test('says whether an older page is needed', () => {
    expect(reachesBack(list('v2.0.0', 'v1.9.0'), step('1.9.0', '2.0.0'))).toBe(true);
    expect(reachesBack(list('v2.0.0', 'v1.9.0'), step('1.8.5', '2.0.0'))).toBe(false);
    expect(reachesBack(list('v1.0.0'), step('1.0.0', '2.0.0'))).toBe(false);
  });
});

test('tagOfVersion() finds the tag of a version', () => {
  expect(tagOfVersion(['nightly', 'v1.2.3', 'v1.2.2'], '1.2.3-ls4', { names: ['web'] })).toBe('v1.2.3');
  expect(tagOfVersion(['nightly'], '1.2.3', { names: ['web'] })).toBeUndefined();
});

test('changelogReleases() takes no comment in a block of code for a section', () => {
  const text =
    '## 2.0.0\n\n```sh\n# from 1.9.0 to 2.0.0\nweb migrate\n```\n\n* Breaking: the port moves\n\n~~~~\n```\n# 1.8.0\n~~~~\n* New\n\n## 1.9.0\n* Old\n';
  const found = changelogReleases(text, step('1.9.0', '2.0.0'), '');
  expect(found?.map(({ tag }) => tag)).toEqual(['2.0.0']);
  expect(found?.[0]?.text).toMatch(/Breaking: the port moves[\s\S]*New\n$/);
});

test('changelogReleases() reads the sections of the versions between', () => {
  const text =
    '# Changelog\n\n## [Unreleased]\n\n* later\n\n## [2.1.0] - 2026-11-19\n\n* Faster\n\n### Fixed\n\n* A fault of 1.2.3\n\n## v2.0.0 (2026-11-02)\n* New\n\n1.9.0\n-----\n* Old\n';
  expect(changelogReleases(text, step('1.9.0', '2.1.0'), 'https://git.example/page')).toEqual([
    {
      tag: '2.1.0',
      title: '',
      text: '\n* Faster\n\n### Fixed\n\n* A fault of 1.2.3\n',
      publishedAtMs: Date.UTC(2026, 10, 19),
      isPrerelease: false,
      url: 'https://git.example/page',
    },
    {
      tag: '2.0.0',
      title: '',
      text: '* New\n',
      publishedAtMs: Date.UTC(2026, 10, 2),
      isPrerelease: false,
      url: 'https://git.example/page',
    },
  ]);
  expect(changelogReleases(text, step('2.1.0', '3.0.0'), '')).toBeUndefined();
});
