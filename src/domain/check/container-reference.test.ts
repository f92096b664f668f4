import { describe, expect, test } from 'vitest';
import { digestOf, imageSummary } from '../../../test/support/scene/builders.ts';
import { isImageId, readContainerReference } from './container-reference.ts';

type ReferenceSource = Parameters<typeof readContainerReference>[0];

const imageId = digestOf('image');
const read = (text: string, more: Partial<ReferenceSource> = {}) =>
  readContainerReference({
    text,
    originalImage: undefined,
    imageId,
    image: imageSummary(imageId, { tags: ['app:1'] }),
    ...more,
  });

describe('readContainerReference()', () => {
  test('keeps the spelling of a reference', () => {
    expect(read('nginx')).toMatchObject({
      kind: 'known',
      text: 'nginx',
      reference: { repository: 'library/nginx', tag: 'latest' },
    });
  });

  test.each([imageId, imageId.slice(7), imageId.slice(7, 19)])(
    'finds out the tag of a container created from the id %s',
    (text) => {
      expect(read(text)).toMatchObject({ kind: 'known', text: 'app:1' });
    },
  );

  test.each<readonly [string, readonly string[], string]>([
    ['no tag', [], 'Created from an image id, and the image has no tag to check'],
    [
      'two tags',
      ['app:1', 'app:latest'],
      'Created from an image id, and the image has several tags to check: "app:1", "app:latest"',
    ],
    ['a broken tag', ['<none>:<none>'], 'Created from an image id, and its tag "<none>:<none>" cannot be read'],
  ])('cannot with %s', (_, tags, reason) => {
    expect(read(imageId, { image: imageSummary(imageId, { tags }) })).toEqual({
      kind: 'unknown',
      text: imageId,
      reason,
    });
  });

  test('cannot when the image is gone', () => {
    expect(read(imageId, { image: undefined }).kind).toBe('unknown');
  });

  test('says what is no reference', () => {
    expect(read('Not A Ref')).toMatchObject({
      kind: 'unknown',
      reason: 'Created from "Not A Ref", which is not an image reference',
    });
  });

  test('a label that names the original image goes first, if it can be read', () => {
    expect(read('app:1', { originalImage: 'app:2' })).toMatchObject({ text: 'app:2' });
    expect(read('app:1', { originalImage: 'A P P' })).toMatchObject({ text: 'app:1' });
  });
});

test('isImageId() takes a name of hex digits for an id only where the id begins so', () => {
  expect(isImageId('cafe', `sha256:${'cafe'.repeat(16)}`)).toBe(true);
  expect(isImageId('cafe', `sha256:${'beef'.repeat(16)}`)).toBe(false);
  expect(isImageId('caf', `sha256:${'caf0'.repeat(16)}`)).toBe(false);
});
