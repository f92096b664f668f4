import { isDigest } from '../../src/domain/reference/digest.ts';
import {
  engineReference,
  familiarReference,
  tryParseImageReference,
} from '../../src/domain/reference/image-reference.ts';
import { Refusal } from '../base/refusal.ts';
import type { SandboxContainer, SandboxNetwork, StoredImage, World } from './world.ts';

/** Finds by id, by name, or by a unique prefix of an id. */
export function findContainer(world: World, idOrName: string): SandboxContainer | undefined {
  const name = idOrName.replace(/^\//, '');
  const known = world.containers.get(idOrName) ?? world.containers.get(world.names.get(name) ?? '');
  if (known !== undefined || !/^[0-9a-f]{1,64}$/.test(idOrName)) return known;
  const matches = [...world.containers.values()].filter(({ id }) => id.startsWith(idOrName));
  return matches.length === 1 ? matches[0] : undefined;
}

export function getContainer(world: World, idOrName: string): SandboxContainer {
  const container = findContainer(world, idOrName);
  if (container === undefined) throw new Refusal(404, `No such container: ${idOrName}`);
  return container;
}

/** Finds by id (whole, or its beginning), by tag, or by digest. */
export function findImage(world: World, idOrReference: string): StoredImage | undefined {
  if (isDigest(idOrReference)) return world.images.get(idOrReference);
  return findByReference(world, idOrReference) ?? findByIdPrefix(world, idOrReference);
}

export function getImage(world: World, idOrReference: string): StoredImage {
  const image = findImage(world, idOrReference);
  if (image === undefined) throw new Refusal(404, `No such image: ${idOrReference}`);
  return image;
}

/** Finds by id or name. */
export function findNetwork(world: World, idOrName: string): SandboxNetwork | undefined {
  return world.networks.get(idOrName) ?? [...world.networks.values()].find(({ id }) => id === idOrName);
}

export function getNetwork(world: World, idOrName: string): SandboxNetwork {
  const network = findNetwork(world, idOrName);
  if (network === undefined) throw new Refusal(404, `network ${idOrName} not found`);
  return network;
}

/** References in the form that the engine prints. */
export function familiar(reference: string): string | undefined {
  const parsed = tryParseImageReference(reference);
  if (parsed === undefined) return undefined;
  return familiarReference(parsed.digest === undefined ? parsed : { ...parsed, tag: undefined });
}

function findByReference(world: World, text: string): StoredImage | undefined {
  const reference = tryParseImageReference(text);
  const spelled = familiar(text);
  if (reference === undefined || spelled === undefined) return undefined;
  if (reference.digest === undefined) return world.images.get(world.tags.get(spelled) ?? '');
  const wanted = engineReference(reference);
  for (const stored of world.images.values()) {
    if (stored.digests.has(spelled) || stored.digests.has(wanted)) return stored;
  }
  return undefined;
}

function findByIdPrefix(world: World, text: string): StoredImage | undefined {
  const prefix = text.replace(/^sha256:/, '');
  if (!/^[0-9a-f]{1,64}$/.test(prefix)) return undefined;
  const matches = [...world.images.values()].filter(({ image }) => image.id.startsWith(`sha256:${prefix}`));
  return matches.length === 1 ? matches[0] : undefined;
}
