import {
  isDigest,
  engineReference,
  familiarReference,
  tryParseImageReference,
} from '../../src/domain/image/image-reference.ts';
import type { Volume } from '../../src/domain/container/container.ts';
import { Refusal } from '../base/simulation.ts';
import {
  emitContainerEvent,
  emitEvent,
  engineNowMs,
  type SandboxContainer,
  type SandboxNetwork,
  type StoredImage,
  type World,
  type SandboxMount,
  type SandboxVolume,
} from './world.ts';

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

/** Compare-and-set: exactly one of several callers gets a name. */
export function claimName(world: World, name: string, id: string): void {
  if (!nameGrammar.test(name))
    throw new Refusal(400, `Invalid container name (${name}), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed`);
  const holder = world.names.get(name);
  if (holder !== undefined)
    throw new Refusal(
      409,
      `Conflict. The container name "/${name}" is already in use by container "${holder}". You have to remove (or rename) that container to be able to reuse that name.`,
    );
  world.names.set(name, id);
}

/** The container keeps running; its old name is free at once. */
export function renameContainer(world: World, container: SandboxContainer, name: string): void {
  if (name === container.name) throw new Refusal(400, 'Renaming a container with the same name as its current name');
  try {
    claimName(world, name, container.id);
  } catch (error) {
    if (error instanceof Refusal) throw new Refusal(error.status, `Error when allocating new name: ${error.message}`);
    throw error;
  }
  if (world.profile.refusesRenameBetweenTries && container.state.status === 'restarting') {
    world.names.delete(name);
    throw new Refusal(404, `sandbox ${container.id} not found`);
  }
  const oldName = container.name;
  world.names.delete(oldName);
  container.name = name;
  emitContainerEvent(world, 'rename', container, { oldName: `/${oldName}` });
}

/** At least two characters: https://github.com/moby/moby/blob/v20.10.24/daemon/names/names.go */
const nameGrammar = /^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/;

/** Returns the volume with that name; creates it if it is missing, as the engine does. */
export function ensureVolume(world: World, name: string): SandboxVolume {
  const existing = world.volumes.get(name);
  if (existing !== undefined) return existing;
  const volume = { name, marker: '', labels: {}, createdAtMs: engineNowMs(world) };
  world.volumes.set(name, volume);
  emitEvent(world, 'volume', 'create', name, { driver: 'local' });
  return volume;
}

/** Deletes the anonymous volumes that no other container uses, as the engine does for `--rm`. */
export function removeOrphanedVolumes(world: World, mounts: readonly SandboxMount[]): void {
  for (const { point, anonymous } of mounts) {
    const { Name: name } = point;
    if (!anonymous || name === undefined || isUsed(world, name)) continue;
    if (world.volumes.delete(name)) emitEvent(world, 'volume', 'destroy', name, { driver: 'local' });
  }
}

/** `POST /volumes/create`: a volume of that name keeps its labels. */
export function createVolume(world: World, name: string, labels: SandboxVolume['labels']): 'done' | 'noop' {
  const isNew = !world.volumes.has(name);
  const volume = ensureVolume(world, name);
  if (isNew) volume.labels = labels;
  if (Object.entries(labels).some(([label, value]) => volume.labels[label] !== value))
    throw new Refusal(409, `the volume "${name}" exists`);
  return isNew ? 'done' : 'noop';
}

/** `GET /volumes`, also with a label: `name`, or `name=value`. */
export function listVolumes(world: World, label: string | undefined): Volume[] {
  const [name = '', value] = label?.split(/=(.*)/s) ?? [];
  return [...world.volumes.values()]
    .filter(({ labels }) => label === undefined || (name in labels && (value === undefined || labels[name] === value)))
    .map(({ name: volume, labels, createdAtMs }) => ({ name: volume, labels, createdAtMs }));
}

/** `DELETE /volumes/{name}` */
export function removeVolume(world: World, name: string): 'done' | 'noop' {
  if (!world.volumes.has(name)) return 'noop';
  if (isUsed(world, name)) throw new Refusal(409, `remove ${name}: volume is in use`);
  world.volumes.delete(name);
  // A removal needs no space, and makes some.
  world.condition.diskFull = false;
  emitEvent(world, 'volume', 'destroy', name, { driver: 'local' });
  return 'done';
}

function isUsed(world: World, volumeName: string): boolean {
  for (const { mounts } of world.containers.values()) {
    if (mounts.some(({ point }) => point.Name === volumeName)) return true;
  }
  return false;
}
