import type {
  Container,
  Image,
  Network,
  ImageConfig,
  RecipeRequest,
  ContainerRecipe,
} from '../../../src/domain/container/container.ts';
import { recipeFor, differences } from '../../../src/domain/container/recipe/container-recipe.ts';
import { digestOf, idOf } from '../scene/builders.ts';
import { type CreateBody, type EngineTraits, inspectCreated } from './engine-inspect.ts';

export function imageOf(name: string, config: ImageConfig = {}): Image {
  return {
    id: digestOf(`image ${name}`),
    tags: [`${name}:1`],
    digests: [],
    os: 'linux',
    architecture: 'amd64',
    variant: '',
    createdAtMs: 0,
    config: { Cmd: ['serve'], ...config },
  };
}

export function networkOf(name: string, driver = 'bridge'): Network {
  return { id: idOf(`network ${name}`), name, driver, recipe: { Name: name, Driver: driver } };
}

/** One engine of a version, on which containers are created, updated and compared. */
export function recipeScene(apiVersion = '1.41', more: Partial<EngineTraits> = {}) {
  const networks = ['bridge', 'host', 'none', 'front', 'back'].map((name) =>
    networkOf(name, name === 'back' ? 'macvlan' : 'bridge'),
  );
  const engine: EngineTraits = { apiVersion, engineName: 'vm', networks, ...more };
  let generation = 0;

  const create = (
    recipe: Pick<ContainerRecipe, 'laterEndpoints'> & { readonly body: CreateBody },
    image: Image,
  ): Container => {
    generation += 1;
    return inspectCreated({ name: 'web', id: idOf(`web ${generation}`) }, recipe, image, engine);
  };
  const requestFor = (
    container: Container,
    oldImage: Image,
    overrides: Partial<RecipeRequest> = {},
  ): RecipeRequest => ({
    container,
    oldImage,
    image: container.settings.Config.Image,
    newImageId: oldImage.id,
    journal: {},
    apiVersion,
    engineName: engine.engineName,
    enginePlatform: { os: 'linux', architecture: 'amd64', variant: '' },
    networks: engine.networks,
    replacedIds: new Map(),
    ...overrides,
  });
  const recipe = (container: Container, oldImage: Image, overrides: Partial<RecipeRequest> = {}) =>
    recipeFor(requestFor(container, oldImage, overrides)) as ContainerRecipe & { readonly body: CreateBody };

  return {
    engine,
    /** A user's container: `docker run`. */
    run: (image: Image, body: CreateBody = {}, laterEndpoints: ContainerRecipe['laterEndpoints'] = []): Container =>
      create({ body: { Image: image.tags[0] ?? '', ...body }, laterEndpoints }, image),
    requestFor,
    recipe,
    /** The successor from the same or another image. */
    update: (
      container: Container,
      oldImage: Image,
      newImage = oldImage,
      overrides: Partial<RecipeRequest> = {},
    ): Container => create(recipe(container, oldImage, { newImageId: newImage.id, ...overrides }), newImage),
    compare: (
      before: Container,
      after: Container,
      oldImage: Image,
      newImage = oldImage,
      replacedIds = new Map<string, string>(),
      freshVolumes = false,
    ) => differences(before, after, { oldImage, newImage, replacedIds, freshVolumes }),
  };
}
