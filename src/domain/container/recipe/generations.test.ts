import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { imageOf, networkOf, recipeScene } from '../../../../test/support/engine/recipe-scene.ts';
import { imageConfig, userBody } from '../../../../test/support/settings-arbitrary.ts';
import type { Container } from '../container.ts';
import { recipeFor } from './container-recipe.ts';
import { anonymousVolumeNames } from './volumes.ts';

const apiVersion = fc.constantFrom('1.41', '1.44', '1.47', '1.51', '1.54');
const isOnTwoNetworks = fc.boolean();

/** A container that an engine of some version created, and two images. */
const scenes = fc
  .record({ apiVersion, body: userBody, isOnTwoNetworks, oldDefaults: imageConfig, newDefaults: imageConfig })
  .map(({ apiVersion: version, body, isOnTwoNetworks: two, oldDefaults, newDefaults }) => {
    const scene = recipeScene(version);
    const [oldImage, newImage] = [imageOf('old', oldDefaults), imageOf('new', newDefaults)];
    const second = { networkId: networkOf('back').id, networkName: 'back', endpoint: { Aliases: ['second'] } };
    const later = two && body.HostConfig?.NetworkMode === 'front' ? [second] : [];
    const container = created(() => scene.run(oldImage, body, later));
    const toString = () => JSON.stringify({ version, body, later, oldDefaults, newDefaults }, null, 1);
    return { scene, oldImage, newImage, container, toString };
  })
  .filter((parts): parts is typeof parts & { container: Container } => parts.container !== undefined);

/** Undefined when the engine refuses. */
function created(create: () => Container): Container | undefined {
  try {
    return create();
  } catch {
    return undefined;
  }
}

describe('generations', () => {
  test('a successor from the same image has every setting of its predecessor', () => {
    fc.assert(
      fc.property(scenes, ({ scene, oldImage, container }) => {
        expect(scene.compare(container, scene.update(container, oldImage), oldImage)).toEqual([]);
      }),
    );
  });

  test('nothing drifts: the third generation is the second, and so are their recipes', () => {
    fc.assert(
      fc.property(scenes, ({ scene, oldImage, container }) => {
        const second = scene.update(container, oldImage);
        const third = scene.update(second, oldImage);
        expect(settled(third)).toEqual(settled(second));
        expect(scene.recipe(third, oldImage)).toEqual(scene.recipe(second, oldImage));
      }),
    );
  });

  test('from another image exactly what was inherited changes, and back again', () => {
    fc.assert(
      fc.property(scenes, ({ scene, oldImage, newImage, container }) => {
        const successor = scene.update(container, oldImage, newImage);
        expect(scene.compare(container, successor, oldImage, newImage)).toEqual([]);
        expect(scene.compare(successor, scene.update(successor, newImage, oldImage), newImage, oldImage)).toEqual([]);
      }),
    );
  });

  test('no volume is ever lost', () => {
    fc.assert(
      fc.property(scenes, ({ scene, oldImage, newImage, container }) => {
        const successor = scene.update(container, oldImage, newImage);
        const last = scene.update(successor, newImage, oldImage);
        expect(volumesOf(last)).toEqual(expect.arrayContaining(volumesOf(container)));
      }),
    );
  });

  test('with fresh volumes no anonymous one is shared, every other is, and nothing else differs; also after an update without', () => {
    fc.assert(
      fc.property(scenes, fc.boolean(), ({ scene, oldImage, newImage, container }, isSecond) => {
        const old = isSecond ? scene.update(container, oldImage) : container;
        const anonymous = [...anonymousVolumeNames(old)].map(([path, name]) => `${path} ${name}`);
        const successor = scene.update(old, oldImage, newImage, { freshVolumes: true });
        expect(scene.compare(old, successor, oldImage, newImage, new Map(), true)).toEqual([]);
        const others = volumesOf(old).filter((volume) => !anonymous.includes(volume));
        expect(volumesOf(successor)).toEqual(expect.arrayContaining(others));
        for (const volume of anonymous) expect(volumesOf(successor)).not.toContain(volume);
        expect([...anonymousVolumeNames(container)]).toEqual([
          ...anonymousVolumeNames(scene.update(container, oldImage)),
        ]);
      }),
    );
  });

  test('the request is not touched', () => {
    fc.assert(
      fc.property(scenes, ({ scene, oldImage, container }) => {
        const request = deeplyFrozen(scene.requestFor(container, oldImage));
        const before = JSON.stringify(request);
        recipeFor(request);
        expect(JSON.stringify(request)).toBe(before);
      }),
    );
  });
});

/** The settings without values unique to one container. */
function settled({ id, settings }: Container): unknown {
  const { Config, HostConfig, Mounts, Networks } = settings;
  const networks = Object.entries(Networks).map(([name, endpoint]) => {
    const { EndpointID: _, IPAddress: _address, MacAddress: _mac, ...rest } = endpoint;
    return [name, rest];
  });
  const text = JSON.stringify({ Config, HostConfig, Mounts, networks });
  return JSON.parse(text.replaceAll(id.slice(0, 12), '(short id)')) as unknown;
}

function volumesOf({ settings }: Container): string[] {
  return settings.Mounts.filter(({ Type }) => Type === 'volume').map(
    ({ Destination, Name }) => `${Destination} ${Name}`,
  );
}

function deeplyFrozen<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value);
    for (const part of Object.values(value)) deeplyFrozen(part);
  }
  return value;
}
