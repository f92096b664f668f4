import { describe, expect, test } from 'vitest';
import { imageOf, recipeScene } from '../../../../test/support/engine/recipe-scene.ts';
import { differences, leftOutFields } from './container-recipe.ts';

const image = imageOf('one');
const HostConfig = { NanoCpus: 500_000_000, CpusetCpus: '0', MemorySwappiness: 0, Memory: 64_000_000 };

describe('leftOutFields()', () => {
  test.each([
    ['auto', false, ['CpusetCpus', 'Memory', 'MemorySwappiness', 'NanoCpus']],
    ['full', false, ['CpusetCpus', 'Memory', 'MemorySwappiness', 'NanoCpus']],
    ['none', false, ['Memory', 'MemorySwappiness']],
    ['none', true, ['Memory']],
  ] as const)(
    '--cpu-copy-mode %s, --disable-memory-swappiness %j: a successor has what is left',
    (mode, disabled, left) => {
      const scene = recipeScene();
      const container = scene.run(image, { HostConfig });
      const leftOut = leftOutFields({ cpuCopyMode: mode, disableMemorySwappiness: disabled });
      const recipe = scene.recipe(container, image, { leftOut });
      const made = recipe.body.HostConfig ?? {};
      expect(
        Object.keys(made)
          .filter((field) => Object.hasOwn(HostConfig, field))
          .toSorted(),
      ).toEqual(left);
      const successor = scene.update(container, image, image, { leftOut });
      const context = { oldImage: image, newImage: image, replacedIds: new Map() };
      expect(differences(container, successor, { ...context, leftOut })).toEqual([]);
    },
  );
});
