import { describe, expect, test } from 'vitest';
import { containerSummary } from '../../../test/support/scene/builders.ts';
import { tryParseImageReference } from '../image/image-reference.ts';
import { defaultSettings } from '../settings/effective-settings.ts';
import { applyFilters, selectContainers } from './selection.ts';

describe('applyFilters()', () => {
  const selection = selectContainers(
    [
      containerSummary('web', { image: 'nginx:1.27' }),
      containerSummary('proxy', { image: 'docker.io/library/nginx:1.28' }),
      containerSummary('db', { image: 'postgres:17' }),
      containerSummary('odd', { image: 'NOT A REFERENCE' }),
      containerSummary('off', { image: 'nginx:1.27', labels: { 'upkeep.enable': 'false' } }),
    ],
    { ...defaultSettings, scope: '' },
    () => ({}),
  );
  const apply = (images: readonly string[], containers: readonly string[]) => {
    const applied = applyFilters(selection, { images, containers }, ({ image }) => tryParseImageReference(image));
    return { names: applied.named.map(({ container }) => container.name), unmatched: applied.unmatched };
  };

  test.each<readonly [images: readonly string[], containers: readonly string[], expected: readonly string[]]>([
    [[], [], ['web', 'proxy', 'db', 'odd']],
    [['nginx'], [], ['web', 'proxy']],
    [['nginx:1.27'], [], ['web']],
    [['docker.io/library/nginx'], [], ['web', 'proxy']],
    [['nginx', 'postgres:17'], [], ['web', 'proxy', 'db']],
    [['nginx'], ['db', 'web'], ['web']],
    [[], ['web|db'], ['web', 'db']],
    [[], ['/db'], ['db']],
  ])('images %j and containers %j: %j', (images, containers, expected) => {
    const { names, unmatched } = apply(images, containers);
    expect(names).toEqual(expected);
    expect(unmatched).toEqual([]);
  });

  test('tells what a filter that names nothing would have needed', () => {
    expect(apply(['NOT A REFERENCE', 'redis'], ['off', 'nobody'])).toEqual({
      names: [],
      unmatched: [
        { filter: 'off', reason: 'Container "off" is not watched: it is disabled by its label' },
        {
          filter: 'nobody',
          reason: expect.stringMatching(/^There is no container named "nobody"; the containers are "web", /) as string,
        },
        {
          filter: 'NOT A REFERENCE',
          reason: expect.stringContaining(
            'No watched container runs the image "NOT A REFERENCE"; the watched images',
          ) as string,
        },
        {
          filter: 'redis',
          reason: expect.stringContaining(
            'No watched container runs the image "redis"; the watched images are "nginx:1.27"',
          ) as string,
        },
      ],
    });
  });

  describe('of a caller with a filter', () => {
    const within = { images: ['nginx:1.27'], containers: [] };
    const limited = (containers: readonly string[], images: readonly string[] = []) =>
      applyFilters(selection, { images, containers, within }, ({ image }) => tryParseImageReference(image));

    test('keep what is within it, also where the request names no container or more', () => {
      for (const names of [[], ['web|db'], ['.*']])
        expect(limited(names).named.map(({ container }) => container.name)).toEqual(['web']);
      expect(limited([], ['nginx', 'postgres']).named.map(({ container }) => container.name)).toEqual(['web']);
    });

    test('say of others what they say of a name that nobody has', () => {
      const reasonOf = (name: string) => limited([name]).unmatched.map(({ reason }) => reason.replace(name, 'NAME'));
      expect(reasonOf('db')).toEqual(reasonOf('nobody'));
      expect(reasonOf('odd')).toEqual(reasonOf('nobody'));
      expect(limited([], ['postgres']).unmatched[0]?.reason).toContain('the watched images are "nginx:1.27"');
      expect(JSON.stringify([limited(['nobody']), limited([], ['redis'])])).not.toMatch(/proxy|postgres|"odd"/);
    });
  });
});
