import { describe, expect, test } from 'vitest';
import { digestOf, imageSummary } from '../../../test/support/scene/builders.ts';
import { digestsOf, imageLabelsIn, indexImages } from './lookup.ts';
import { parseImageReference } from '../image/image-reference.ts';

const nginx = imageSummary(digestOf('config'), {
  tags: ['nginx:1.27', 'registry.test/proxy:1'],
  digests: [`nginx@${digestOf('index')}`, 'nginx@sha256:broken', '<none>@<none>'],
});
const images = indexImages([imageSummary(digestOf('other')), nginx]);

describe('indexImages()', () => {
  test.each(['nginx:1.27', 'docker.io/library/nginx:1.27', `nginx:1.27@${digestOf('x')}`, 'registry.test/proxy:1'])(
    'byTag() finds %s',
    (text) => expect(images.byTag(parseImageReference(text))).toBe(nginx),
  );

  test('byTag() knows no image under another tag', () => {
    expect(images.byTag(parseImageReference('nginx'))).toBeUndefined();
  });

  test('digestsOf() leaves out what is no digest', () => {
    expect(digestsOf(nginx)).toEqual([digestOf('index')]);
  });
});

test('imageLabelsIn() knows no labels of an image whose configuration the engine does not know', () => {
  const known = imageSummary(digestOf('known'));
  const unknown = { ...imageSummary(digestOf('unknown')), isConfigUnknown: true as const };
  const labelsOf = imageLabelsIn(indexImages([known, unknown]));
  expect(labelsOf({ imageId: known.id })).toEqual({});
  expect(labelsOf({ imageId: unknown.id })).toBeUndefined();
  expect(labelsOf({ imageId: digestOf('gone') })).toBeUndefined();
});
