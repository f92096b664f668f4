import { describe, expect, test } from 'vitest';
import { digestOf, imageSummary } from '../../../test/support/scene/builders.ts';
import {
  failedVersionsIn,
  failedVersionsOf,
  failedVersionTag,
  obsoleteFailures,
  otherNames,
  userTags,
} from './known-versions.ts';

const atMs = Date.UTC(2026, 0, 31, 12, 5, 9);
const imageId = digestOf('bad');
const tag = failedVersionTag('web', imageId, atMs) ?? '';

describe('failedVersionTag()', () => {
  test('reads back, with whatever host an engine prints before it', () => {
    for (const prefix of ['', 'localhost/', 'docker.io/library/']) {
      const images = [imageSummary(digestOf('old'), { tags: ['app:1', prefix + tag] })];
      expect(failedVersionsIn(failedVersionsOf(images), 'web')).toEqual([
        { tag: prefix + tag, imageId, nameKey: expect.any(String), atMs },
      ]);
      expect(failedVersionsIn(failedVersionsOf(images), 'db')).toEqual([]);
    }
  });

  test('is a tag that engines take, however long and strange the name', () => {
    for (const name of ['ab', 'Web_1.x-', 'x'.repeat(255)]) {
      expect(failedVersionTag(name, imageId, atMs)).toMatch(/^upkeep-quarantine:[\w][\w.-]{0,127}$/);
    }
  });

  test('is none for an image whose id is not a sha256 digest, or a time that is none', () => {
    expect(failedVersionTag('web', `sha512:${'a'.repeat(128)}`, atMs)).toBeUndefined();
    expect(failedVersionTag('web', imageId, Number.NaN)).toBeUndefined();
  });

  test.each([
    `evil.test/${tag}`,
    tag.replace(/-\d.*$/, ''),
    tag.replace('2026', '20x6'),
    tag.replace(/T\d{6}/, 'T999999'),
    'upkeep-quarantine:latest',
  ])('%s is an ordinary tag', (text) => {
    const image = imageSummary(digestOf('old'), { tags: [text] });
    expect(failedVersionsOf([image])).toEqual([]);
    expect(userTags(image)).toEqual([text]);
  });
});

test('userTags() leaves out what only remembers a failure', () => {
  expect(userTags({ tags: [tag, 'app:1'] })).toEqual(['app:1']);
});

test('otherNames() are what keeps an image when the tag goes', () => {
  const own = `docker.io/library/upkeep-quarantine@${digestOf('old')}`;
  expect(otherNames({ tags: [tag], digests: [own] }, tag)).toEqual([]);
  expect(otherNames({ tags: [tag, 'app:1'], digests: [own, `app@${digestOf('old')}`] }, tag)).toHaveLength(2);
});

describe('obsoleteFailures()', () => {
  const versions = failedVersionsOf([{ tags: [tag] }]);
  const judged = (status: string, failed = false) => [
    { name: 'web', status, failedVersion: failed ? versions[0] : undefined },
  ];

  test.each([
    ['still is what the tag means', judged('held', true), false],
    ['is to be tried again', judged('stale', true), false],
    ['cannot be told about', judged('unknown'), false],
    ['was not asked about', [], false],
    ['is not what the tag means any more', judged('stale'), true],
    ['was left behind', judged('fresh'), true],
  ])('one that %s', (_what, verdicts, obsolete) => {
    expect(obsoleteFailures(versions, [{ name: 'web' }], verdicts)).toEqual(obsolete ? versions : []);
  });

  test('one of a container that is gone; not of one that an update has parked', () => {
    expect(obsoleteFailures(versions, [{ name: 'db' }], [])).toEqual(versions);
    expect(obsoleteFailures(versions, [{ name: 'web.upkeep-old-u' }], [])).toEqual([]);
  });
});
