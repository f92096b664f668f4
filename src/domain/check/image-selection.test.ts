import { describe, expect, test } from 'vitest';
import { containerSummary } from '../../../test/support/scene/builders.ts';
import { readContainerReference } from './container-reference.ts';
import { createImageRule, selectContainers, selectByImage } from './selection.ts';
import { defaultSettings } from '../settings/effective-settings.ts';

const skipped = 'runs an image of skip-image-names';
const notAmong = 'runs an image that is not among monitor-image-names';

describe('createImageRule()', () => {
  test.each<readonly [image: string, monitor: readonly string[], skip: readonly string[], reason: string | undefined]>([
    ['nginx', ['nginx:latest'], [], undefined],
    ['nginx', ['docker.io/library/nginx:latest'], [], undefined],
    ['docker.io/library/nginx:1.27', ['nginx:.*'], [], undefined],
    ['index.docker.io/library/nginx:1.27', ['index[.]docker[.]io/.*'], [], undefined],
    ['nginx:1.27', ['nginx'], [], undefined],
    ['nginx:1.27', ['nginx:1'], [], notAmong],
    ['my/nginx:1.27', ['nginx'], [], notAmong],
    ['nginx:latest-alpine', ['nginx:latest|redis:latest'], [], notAmong],
    ['acme.redis:latest', ['nginx:latest|redis:latest'], [], notAmong],
    ['ghcr.io/acme/api:2', ['ghcr.io/acme/.*', 'redis'], [], undefined],
    ['nginx:1.27', [], ['nginx'], skipped],
    ['nginx:1.27', [], ['nginx:1.28'], undefined],
    ['nginx:1.27', ['nginx'], ['.*:1[.]27'], skipped],
    ['nginx:1.27', [], ['nginx:(1.27'], undefined],
    ['not A reference', ['nginx'], [], notAmong],
    ['not A reference', [], ['nginx'], undefined],
  ])('%s with %j but %j: %j', (text, monitorImageNames, skipImageNames, reason) => {
    const rule = createImageRule({ monitorImageNames, skipImageNames });
    const read = readContainerReference({ text, originalImage: undefined, imageId: 'sha256:0', image: undefined });
    expect(rule?.(read)).toBe(reason);
  });

  test('there is none when nothing is said about images', () => {
    expect(createImageRule(defaultSettings)).toBeUndefined();
  });
});

test('selectByImage() keeps a container whose reference could not be read, so that this is told', () => {
  const containers = ['web', 'db', 'lost'].map((name) => containerSummary(name, { image: name }));
  const selection = selectContainers(containers, { ...defaultSettings, scope: '' }, () => ({}));
  const rule = createImageRule({ monitorImageNames: ['web'], skipImageNames: [] });
  const images = new Map(containers.filter(({ name }) => name !== 'lost').map(({ id, image }) => [id, image]));
  const chosen = selectByImage(selection, rule, (id) => {
    const text = images.get(id);
    if (text === undefined) return undefined;
    return readContainerReference({ text, originalImage: undefined, imageId: 'sha256:0', image: undefined });
  });
  expect(chosen.watched.map(({ container }) => container.name)).toEqual(['web', 'lost']);
  expect(chosen.unwatched.map(({ container, reason }) => [container.name, reason])).toEqual([['db', notAmong]]);
});
