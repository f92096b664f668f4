import type { Engine } from '../../../src/domain/outside/outside.ts';
import type { ContainerRecipe, Container, Image } from '../../../src/domain/container/container.ts';
import { expect } from 'vitest';
import { differences, recipeFor } from '../../../src/domain/container/recipe/container-recipe.ts';
import { inDockerForm } from '../../../src/adapters/docker/calls/podman.ts';
import type { Inspected } from '../../lab/engine/engine-client.ts';
import type { Lab } from '../../lab/lab.ts';
import { canonical } from '../../../src/domain/text/json.ts';
import { isPodman } from '../../lab/engine/podman.ts';
import type { ImageName } from './images.ts';
import type { Shape } from './shapes.ts';

export type Seen = {
  readonly container: Container;
  /** The engine's raw answer. */
  readonly raw: Inspected;
};

/** Creates containers as users do, and their successors as an update does. */
export function createScene(lab: Lab, engine: Engine) {
  const reference = `${lab.registry.host}/fidelity:current`;
  let successors = 0;

  /** The container `subject`, running unless the shape says otherwise. */
  async function run(shape: Shape): Promise<Seen> {
    if (shape.other) await lab.engine.run('other', `${lab.registry.host}/fidelity:one`, shape.other);
    const { container } = await create(shape, 'subject', 'one');
    return start(shape, container);
  }

  async function create(shape: Shape, name: string, image: ImageName): Promise<Seen> {
    await engine.tagImage((await imageCalled(image)).id, reference);
    await lab.engine.create(name, reference, await named(shape.body));
    for (const [network, EndpointConfig] of Object.entries(shape.connect ?? {}))
      await change('POST', `/networks/${network}/connect`, { Container: name, EndpointConfig });
    for (const network of shape.disconnect ?? [])
      await change('POST', `/networks/${network}/disconnect`, { Container: name });
    return see(name);
  }

  /** Created beside its predecessor, with the tag moved, and compared with it. */
  async function succeed(
    { container }: Seen,
    from: ImageName,
    to: ImageName,
    replacedIds: ReadonlyMap<string, string> = new Map(),
  ): Promise<Seen> {
    const [oldImage, newImage] = [await imageCalled(from), await imageCalled(to)];
    await engine.tagImage(newImage.id, reference);
    const recipe = await recipeOf(container, oldImage, newImage, replacedIds);
    successors += 1;
    const outcome = await engine.createContainer(`successor-${successors}`, recipe);
    if (outcome.kind !== 'done') throw new Error(outcome.message);
    for (const { networkId, endpoint } of recipe.laterEndpoints)
      expect(await engine.connectNetwork({ containerId: outcome.id, networkId, endpoint })).toEqual({ kind: 'done' });
    const seen = await see(outcome.id);
    expect(differences(container, seen.container, { oldImage, newImage, replacedIds })).toEqual([]);
    return seen;
  }

  async function recipeOf(
    container: Container,
    oldImage: Image,
    newImage: Image,
    replacedIds: ReadonlyMap<string, string>,
  ): Promise<ContainerRecipe> {
    const info = await engine.info();
    return recipeFor({
      container,
      oldImage,
      image: container.settings.Config.Image,
      newImageId: newImage.id,
      journal: {},
      apiVersion: info.apiVersion,
      engineName: info.name,
      enginePlatform: info.platform,
      networks: await engine.listNetworks(),
      replacedIds,
      policyFromStart: !info.abilities.changesRestartPolicies,
    });
  }

  /** Recipes from the running container and from the stopped one. */
  async function recipesAroundStop({ container }: Seen): Promise<readonly [ContainerRecipe, ContainerRecipe]> {
    const image = await imageCalled('one');
    const running = await recipeOf(container, image, image, new Map());
    await engine.stopContainer(container.id, { timeoutSeconds: 0 });
    const stopped = await see(container.id);
    return [running, await recipeOf(stopped.container, image, image, new Map())];
  }

  /** The successor, in its predecessor's place: it has the name and the restart policy, and runs. */
  async function replace(
    shape: Pick<Shape, 'created'>,
    { container }: Seen,
    successor: Seen,
    replacedIds: ReadonlyMap<string, string> = new Map(),
  ): Promise<Seen> {
    const { name, settings } = container;
    const { Name = '', MaximumRetryCount = 0 } = settings.HostConfig.RestartPolicy ?? {};
    await engine.removeContainer(container.id);
    await engine.renameContainer(successor.container.id, name);
    if (Name !== '' && Name !== 'no') {
      await engine.updateRestartPolicy(successor.container.id, { Name, MaximumRetryCount });
    }
    const seen = await start(shape, successor.container);
    const image = await imageCalled('one');
    expect(differences(container, seen.container, { oldImage: image, newImage: image, replacedIds })).toEqual([]);
    return seen;
  }

  async function start(shape: Pick<Shape, 'created'>, { id }: Container): Promise<Seen> {
    if (!shape.created) await change('POST', `/containers/${id}/start`);
    return see(id);
  }

  async function see(idOrName: string): Promise<Seen> {
    const [container, raw] = [await engine.inspectContainer(idOrName), await lab.engine.inspect(idOrName)];
    if (container === undefined || raw === undefined) throw new Error(`"${idOrName}" is gone`);
    return { container, raw: isPodman ? inDockersWords(raw) : raw };
  }

  async function imageCalled(name: ImageName): Promise<Image> {
    const image = await engine.inspectImage(`${lab.registry.host}/fidelity:${name}`);
    if (image === undefined) throw new Error(`the image "${name}" is gone`);
    return image;
  }

  async function named(body: Shape['body']): Promise<object> {
    const front = (await engine.listNetworks()).find(({ name }) => name === 'front')?.id ?? '';
    const other = (await engine.inspectContainer('other'))?.id ?? '';
    return JSON.parse(JSON.stringify(body).replaceAll('FRONT', front).replaceAll('OTHER', other)) as object;
  }

  async function change(method: string, path: string, body?: object): Promise<void> {
    const reply = await lab.engine.call(method, path, body);
    if (reply.status >= 400) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
  }

  async function clear(): Promise<void> {
    for (const { id } of await engine.listContainers()) await change('DELETE', `/containers/${id}?force=1&v=1`);
  }

  return { run, create, succeed, recipesAroundStop, replace, see, clear };
}

/**
 * Without the note that successors carry on Podman only, and with sorted bindings of a port, because Podman has no
 * order.
 */
function inDockersWords(raw: Inspected): Inspected {
  const { 'upkeep.tx.addresses': _note, ...Labels } = raw.Config.Labels;
  const told = {
    ...raw,
    ...inDockerForm({ ...raw, Config: { ...raw.Config, Labels } }, { addresses: new Map(), hostName: '' }),
  };
  const sorted = Object.entries(told.HostConfig.PortBindings ?? {}).map(([port, bindings]) => [
    port,
    (bindings as readonly unknown[] | null)?.toSorted((one, other) => canonical(one).localeCompare(canonical(other))),
  ]);
  return { ...told, HostConfig: { ...told.HostConfig, PortBindings: Object.fromEntries(sorted) } };
}
