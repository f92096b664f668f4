import { defaultSettings } from '../settings/effective-settings.ts';
import type { RemoteImage } from '../outside/registry.ts';
import { describe, expect, test } from 'vitest';
import { digestOf, imageSummary } from '../../../test/support/scene/builders.ts';
import type { ImageSummary } from '../container/container.ts';
import { type ErrorCode, ServiceError } from '../text/errors.ts';
import {
  judgeFailure,
  judgeWithoutRegistry,
  judgeContent,
  judgeDigest,
  ownDigest,
  type Content,
  type CheckSubject,
} from './verdict.ts';
import { failedVersionsOf, failedVersionTag, ageOf } from './known-versions.ts';
import { indexImages } from '../container/lookup.ts';
import type { Hold } from '../decision/decisions.ts';
import { sentence, words } from '../text/words.ts';
import { parseImageReference } from '../image/image-reference.ts';

const day = 86_400_000;
const nowMs = Date.UTC(2026, 0, 31, 12);
const amd64 = { os: 'linux', architecture: 'amd64', variant: '' };

const pulled = imageSummary(digestOf('config 1'), { tags: ['app:1'], digests: [`app@${digestOf('index 1')}`] });
const built = imageSummary(digestOf('built'), { tags: ['app:1'] });

function subject(
  parts: { reference?: string; image?: ImageSummary | undefined; imageId?: string } & Partial<
    CheckSubject['effective']
  > = {},
): CheckSubject {
  const { reference = 'app:1', imageId, monitorOnly = false, noPull = false, cooldownMs = 0 } = parts;
  const image = 'image' in parts ? parts.image : pulled;
  const effective = { ...defaultSettings, monitorOnly, noPull, cooldownMs };
  return {
    reference: parseImageReference(reference),
    image,
    imageId: imageId ?? image?.id ?? digestOf('config 1'),
    effective,
    isNamedByLabel: false,
    failedVersions: [],
    retryFailed: false,
  };
}

const newer: RemoteImage = {
  digest: digestOf('index 2'),
  manifestDigest: digestOf('manifest 2'),
  configDigest: digestOf('config 2'),
  platform: amd64,
  createdAtMs: nowMs - day,
};

const content = (parts: Partial<RemoteImage> = {}, more: Partial<Content> = {}): Content => {
  const latest = { ...newer, ...parts };
  const justSeen = { digest: latest.digest, atMs: 0, sawItCome: false };
  const age = ageOf(justSeen, latest.createdAtMs, { nowMs, monotonicMs: 0 });
  return { latest, own: undefined, platform: amd64, nowMs, age, ...more };
};

const noImages = indexImages([]);

describe('judgeWithoutRegistry()', () => {
  const judge = (of: CheckSubject, ...images: readonly ImageSummary[]) => judgeWithoutRegistry(of, indexImages(images));

  test('asks the registry about an ordinary image', () => {
    expect(judge(subject(), pulled)).toBeUndefined();
  });

  test.each([`app@${digestOf('index 1')}`, `app:1@${digestOf('index 1')}`])('%s is pinned', (reference) => {
    expect(judge(subject({ reference, noPull: true }), pulled)).toMatchObject({
      status: 'pinned',
      reason: `Pinned to the digest ${digestOf('index 1').slice(7, 19)}`,
      digest: digestOf('index 1'),
      error: undefined,
    });
  });

  test('an image without registry digest is built locally', () => {
    expect(judge(subject({ image: built }), built)).toMatchObject({ status: 'local', digest: undefined });
  });

  test('so is one whose tag has moved on to another local build', () => {
    const old = imageSummary(digestOf('old build'));
    expect(judge(subject({ image: old }), old, built)).toMatchObject({ status: 'local' });
  });

  test('so is a name that Podman has put under localhost, also of a pulled image; a registry there is asked', () => {
    const reference = 'localhost/app:1';
    expect(judge(subject({ reference, image: pulled }), pulled)).toMatchObject({ status: 'local' });
    const fromThere = { ...pulled, digests: [`localhost/app@${digestOf('index 1')}`] };
    expect(judge(subject({ reference, image: fromThere }), fromThere)).toBeUndefined();
  });

  test('an image that lost its digest with its tag was pulled: the registry is asked', () => {
    const old = imageSummary(digestOf('config 0'));
    expect(judge(subject({ image: old }), old, pulled)).toBeUndefined();
    expect(judge(subject({ image: old }), old)).toBeUndefined();
  });

  test('an image that is gone from the engine is asked about', () => {
    expect(judge(subject({ image: undefined }))).toBeUndefined();
  });

  describe('with no-pull', () => {
    test('fresh when the local tag is the image that runs', () => {
      expect(judge(subject({ noPull: true }), pulled)).toMatchObject({ status: 'fresh', latestImageId: pulled.id });
    });

    test('stale when the local tag is another image, a local build too', () => {
      const old = imageSummary(digestOf('old build'));
      expect(judge(subject({ noPull: true, image: old }), old, built)).toMatchObject({
        status: 'stale',
        reason: 'The tag "app:1" points at another image in the engine now',
        latestImageId: built.id,
        latestDigest: undefined,
      });
    });

    test('held when it is monitored only', () => {
      const old = imageSummary(digestOf('config 0'));
      const verdict = judge(subject({ noPull: true, monitorOnly: true, image: old }), old, pulled);
      expect(verdict).toMatchObject({ status: 'held', latestDigest: digestOf('index 1') });
    });

    test('unknown when no local image has the tag', () => {
      const reason = 'No image in the engine is tagged "app:1", and no-pull is on';
      expect(judge(subject({ noPull: true }))).toMatchObject({ status: 'unknown', reason, error: reason });
    });
  });
});

describe('a version that failed in the container before', () => {
  const failedVersions = failedVersionsOf([
    { tags: [failedVersionTag('web', digestOf('config 2'), nowMs - day) ?? '', 'app:1'] },
  ]);
  const reason =
    'A newer image of "app:1" is available, but failed here on 2026-01-30T12:00Z and was rolled back: Upkeep will not retry it until a newer image is published; --retry-failed retries it now';

  test.each(['digest', 'manifestDigest', 'configDigest'] as const)('is held when its %s is that image', (name) => {
    const latest = { configDigest: digestOf('config 9'), [name]: digestOf('config 2') };
    const verdict = judgeContent({ ...subject(), failedVersions }, content(latest), noImages);
    expect(verdict).toMatchObject({
      status: 'held',
      reason,
      failedVersion: failedVersions[0],
      eligibleAtMs: undefined,
    });
  });

  test('is held also where no registry is asked', () => {
    const tagged = imageSummary(digestOf('config 2'), { tags: ['app:1'] });
    const old = imageSummary(digestOf('config 1'), { tags: [failedVersions[0]?.tag ?? ''] });
    const of = { ...subject({ noPull: true, image: old }), failedVersions };
    expect(judgeWithoutRegistry(of, indexImages([tagged, old]))).toMatchObject({
      status: 'held',
      failedVersion: failedVersions[0],
    });
  });

  test('is stale when it is to be tried again, and when the tag has moved on', () => {
    const again = judgeContent({ ...subject(), failedVersions, retryFailed: true }, content(), noImages);
    expect(again).toMatchObject({ status: 'stale', failedVersion: failedVersions[0] });
    const next = judgeContent(
      { ...subject(), failedVersions },
      content({ configDigest: digestOf('config 3') }),
      noImages,
    );
    expect(next).toMatchObject({ status: 'stale', failedVersion: undefined });
  });

  test('does not make a pulled image look built here', () => {
    const old = imageSummary(digestOf('config 1'), { tags: [failedVersions[0]?.tag ?? ''] });
    expect(judgeWithoutRegistry({ ...subject({ image: old }), failedVersions }, indexImages([old]))).toBeUndefined();
  });
});

describe('judgeDigest()', () => {
  test('fresh when the engine has the image by that digest, of whatever repository', () => {
    const image = imageSummary(digestOf('config 1'), { digests: [`mirror.test/app@${digestOf('index 1')}`] });
    expect(judgeDigest(subject({ image }), digestOf('index 1'))).toMatchObject({
      status: 'fresh',
      digest: digestOf('index 1'),
      latestDigest: digestOf('index 1'),
      latestImageId: image.id,
    });
  });

  test('fresh when the image id is that digest (containerd image store, tag moved away)', () => {
    const image = imageSummary(digestOf('index 1'));
    expect(judgeDigest(subject({ image }), digestOf('index 1'))?.status).toBe('fresh');
  });

  test('leaves another digest to the content', () => {
    expect(judgeDigest(subject(), digestOf('index 2'))).toBeUndefined();
  });
});

describe('judgeContent()', () => {
  describe('with images that an engine may choose instead', () => {
    const other = { manifestDigest: digestOf('manifest v3'), configDigest: digestOf('config v3') };
    const several = content({
      alternatives: [other, { manifestDigest: digestOf('manifest v2'), configDigest: undefined }],
    });
    const running = (id: string) => subject({ image: imageSummary(id), imageId: id });

    test.each(['manifest 2', 'config 2', 'manifest v3', 'config v3', 'manifest v2'])('%s is fresh', (id) => {
      expect(judgeContent(running(digestOf(id)), several, noImages)).toMatchObject({ status: 'fresh' });
    });

    test('an index with the same images is fresh, and one with another image is not', () => {
      const own = { ...newer, digest: digestOf('index 1') };
      const judge = (parts: Partial<RemoteImage>, of = several) =>
        judgeContent(subject(), { ...of, own: { ...own, ...parts } }, noImages).status;
      expect(judge({ alternatives: several.latest.alternatives! })).toBe('fresh');
      expect(judge({ alternatives: several.latest.alternatives!.toReversed() })).toBe('fresh');
      expect(judge({ alternatives: [other] })).toBe('stale');
      expect(judge({})).toBe('stale');
      expect(judge({ alternatives: [other] }, content())).toBe('stale');
    });

    test('a failure of any of them counts, and none of them is the newest that the engine has', () => {
      const failed = { tag: 'x', imageId: other.configDigest, nameKey: '', atMs: 1 };
      const present = indexImages([imageSummary(other.configDigest), imageSummary(newer.configDigest)]);
      const judged = judgeContent({ ...subject(), failedVersions: [failed] }, several, present);
      expect(judged).toMatchObject({ status: 'held', hold: 'failed', latestImageId: undefined });
    });
  });

  const judge = (of: CheckSubject, said: Content, ...images: readonly ImageSummary[]) =>
    judgeContent(of, said, indexImages(images));

  test('stale when our platform gets other content', () => {
    expect(judge(subject(), content(), pulled)).toEqual({
      status: 'stale',
      reason: 'A newer image of "app:1" is available',
      digest: digestOf('index 1'),
      latestDigest: digestOf('index 2'),
      latestImageId: undefined,
      error: undefined,
      eligibleAtMs: undefined,
      newest: content().latest,
    });
  });

  test.each<readonly [string, Partial<RemoteImage>]>([
    ['config is the image that runs', { configDigest: digestOf('config 1') }],
    ['manifest is known to the engine', { manifestDigest: digestOf('index 1') }],
  ])('fresh when only other platforms changed: the %s', (_, latest) => {
    expect(judge(subject(), content(latest), pulled)).toMatchObject({
      status: 'fresh',
      latestDigest: digestOf('index 2'),
      latestImageId: pulled.id,
    });
  });

  test('fresh when only other platforms changed and the engine keeps index digests as ids', () => {
    const image = imageSummary(digestOf('index 1'), { digests: [`app@${digestOf('index 1')}`] });
    const own = { ...newer, digest: digestOf('index 1') };
    expect(judge(subject({ image }), content({}, { own }), image).status).toBe('fresh');
    const older = { ...own, configDigest: digestOf('config 1') };
    expect(judge(subject({ image }), content({}, { own: older }), image).status).toBe('stale');
  });

  test('names the newer image when the engine holds it already', () => {
    const next = imageSummary(digestOf('config 2'), { tags: ['app:1'] });
    expect(judge(subject(), content(), pulled, next).latestImageId).toBe(next.id);
  });

  test('does not name an image for another platform that the engine has pulled by the same digest', () => {
    const foreign = imageSummary(digestOf('config for arm64'), { digests: [`app@${digestOf('index 2')}`] });
    expect(judge(subject(), content(), pulled, foreign).latestImageId).toBeUndefined();
  });

  test('an image that is gone from the engine is judged by its id', () => {
    expect(judge(subject({ image: undefined }), content({ configDigest: digestOf('config 1') })).status).toBe('fresh');
    expect(judge(subject({ image: undefined }), content()).status).toBe('stale');
  });

  test('unknown when it is made for another platform', () => {
    const said = content({ platform: { os: 'linux', architecture: 'arm64', variant: 'v8' } });
    const reason = 'The image of the tag is made for "linux/arm64/v8", not for linux/amd64';
    expect(judge(subject(), said)).toMatchObject({ status: 'unknown', reason, error: reason, latestDigest: undefined });
  });

  test('unknown when it says no platform: it may be no image at all', () => {
    expect(judge(subject(), content({ platform: undefined })).status).toBe('unknown');
  });

  test('a lesser variant of our own platform runs', () => {
    const said = content(
      { platform: { os: 'linux', architecture: 'arm', variant: 'v6' } },
      { platform: { os: 'linux', architecture: 'arm', variant: 'v7' } },
    );
    expect(judge(subject(), said).status).toBe('stale');
  });

  test('held when it is monitored only, and still tells what is newer', () => {
    expect(judge(subject({ monitorOnly: true, cooldownMs: 9 * day }), content())).toMatchObject({
      status: 'held',
      reason: 'A newer image of "app:1" is available; monitored only',
      latestDigest: digestOf('index 2'),
      eligibleAtMs: undefined,
    });
  });

  test.each<readonly [string, number, number | undefined, 'stale' | 'held', number | undefined]>([
    ['old enough', day, nowMs - day, 'stale', undefined],
    ['a millisecond too young', day, nowMs - day + 1, 'held', nowMs + 1],
    ['built in the future, so counted from when it was seen', day, nowMs + 5 * day, 'held', nowMs + day],
    ['of unknown age, so counted from when it was seen', day, undefined, 'held', nowMs + day],
    ['of unknown age, without cooldown', 0, undefined, 'stale', undefined],
  ])('cooldown: %s', (_, cooldownMs, createdAtMs, status, eligibleAtMs) => {
    expect(judge(subject({ cooldownMs }), content({ createdAtMs }))).toMatchObject({ status, eligibleAtMs });
  });

  test('a cooldown is told of while it lasts and when it is over, and not where there is none', () => {
    const young = content({ createdAtMs: nowMs - 3_600_000 });
    expect(judge(subject({ cooldownMs: day }), young).cooldown).toEqual({ ageMs: 3_600_000, delayMs: day });
    expect(judge(subject({ cooldownMs: 1000 }), young).cooldown).toEqual({ ageMs: 3_600_000, delayMs: 1000 });
    expect(judge(subject({}), young).cooldown).toBeUndefined();
  });

  test('says when a cooldown ends', () => {
    const verdict = judge(subject({ cooldownMs: 3 * day }), content({ createdAtMs: nowMs - 90 * 60_000 - 1234 }));
    expect(verdict.reason).toBe(
      'A newer image of "app:1" is available, but too young: built 1h30m ago, and the cooldown is 3d: not before 2026-02-03T10:29Z',
    );
  });

  test('says that it counts from the first sight of what has no date', () => {
    const age = { ms: 3 * 3_600_000, since: 'first seen' } as const;
    const verdict = judge(subject({ cooldownMs: day }), content({ createdAtMs: undefined }, { age }));
    expect(verdict.reason).toBe(
      'A newer image of "app:1" is available, but too young: first seen 3h ago, without a build time, and the cooldown is 1d: not before 2026-02-01T09:00Z',
    );
  });

  test.each([Number.MAX_SAFE_INTEGER, 8.64e15])('a date beyond all calendars (%d) is no error', (createdAtMs) => {
    expect(judge(subject({ cooldownMs: day }), content({ createdAtMs })).status).toBe('held');
  });
});

describe('ownDigest()', () => {
  test.each<readonly [string, ImageSummary | undefined, string | undefined]>([
    ['classic store: the id tells', pulled, undefined],
    [
      'containerd store: the id is the index',
      imageSummary(digestOf('index 1'), { digests: [`app@${digestOf('index 1')}`] }),
      digestOf('index 1'),
    ],
    ['containerd store, tag moved away', imageSummary(digestOf('index 1')), digestOf('index 1')],
    ['gone from the engine', undefined, digestOf('config 1')],
  ])('%s', (_, image, expected) => expect(ownDigest(subject({ image }))).toBe(expected));
});

describe('judgeFailure()', () => {
  const failed = (code: ErrorCode, retryAfterMs?: number) =>
    new ServiceError(code, 'Cannot resolve "app:1": no', retryAfterMs === undefined ? {} : { retryAfterMs });

  test.each<readonly [ErrorCode, string, Hold]>([
    [
      'registry-denied',
      'The registry refuses access: the credentials are missing, wrong or expired, or there is no such image',
      'unauthorised',
    ],
    ['registry-not-found', 'The registry has no such image or tag', 'not-found'],
    ['registry-unreachable', 'The registry cannot be reached', 'unreachable'],
    ['timeout', 'The registry cannot be reached: it did not answer in time', 'unreachable'],
    ['registry-rate-limited', 'The registry limits requests', 'rate-limited'],
  ])('%s is unknown, never fresh, and reason and error begin with its word', (code, reason, hold) => {
    const word = sentence(words.hold[hold]);
    const verdict = judgeFailure(subject(), failed(code));
    expect(verdict).toMatchObject({ status: 'unknown', hold, reason, error: `${word}. Cannot resolve "app:1": no` });
    expect(reason.startsWith(word)).toBe(true);
  });

  test.each<readonly [ErrorCode, string]>([
    ['registry-invalid', 'The registry sent an invalid answer'],
    ['engine-refused', 'The check failed'],
  ])('%s is unknown for another reason', (code, reason) => {
    expect(judgeFailure(subject(), failed(code))).toMatchObject({
      status: 'unknown',
      hold: 'other',
      reason,
      error: 'Cannot resolve "app:1": no',
      digest: digestOf('index 1'),
      latestDigest: undefined,
    });
  });

  test('says how long the registry asks to wait', () => {
    const { reason } = judgeFailure(subject(), failed('registry-rate-limited', 90_000));
    expect(reason).toBe('The registry limits requests; it asks to wait 1m30s');
  });

  test('nothing for the platform is told from no such tag', () => {
    const { reason } = judgeFailure(subject(), failed('registry-not-found'), amd64);
    expect(reason).toBe('The registry has no such image for linux/amd64');
  });

  test('a bug is not shown in the reason', () => {
    const { reason, error } = judgeFailure(subject(), new TypeError('x is not a function'));
    expect([reason, error]).toEqual(['The check failed', 'internal error: x is not a function']);
  });
});

test('nothing that judges needs the image list to be complete', () => {
  expect(judgeContent(subject(), content(), noImages).status).toBe('stale');
});
