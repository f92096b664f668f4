import type { Image, ImageSummary } from '../../src/domain/container/container.ts';
import {
  tryParseImageReference,
  familiarReference,
  type ImageReference,
} from '../../src/domain/image/image-reference.ts';
import { familiar, getImage } from './lookup.ts';
import { Refusal } from '../base/simulation.ts';
import type { SandboxImage, RegistryCaller, Manifest } from '../registry/registry-store.ts';
import { emitEvent, noSpaceLeft, type SandboxContainer, type StoredImage, type World } from './world.ts';
import type { PullRequest } from '../../src/domain/outside/engine.ts';
import { ServiceError } from '../../src/domain/text/errors.ts';
import { formatPlatform, type Platform } from '../../src/domain/image/platform.ts';
import { imageFor } from '../registry/registry.ts';

/** Stores an image that was pulled or loaded; equal images are stored once. */
export function storeImage(world: World, image: SandboxImage): StoredImage {
  const stored = world.images.get(image.id) ?? { image, digests: new Set<string>() };
  world.images.set(image.id, stored);
  return stored;
}

/** Moves the tag to the image. */
export function tagImage(world: World, idOrReference: string, reference: string): void {
  const { image } = getImage(world, idOrReference);
  const parsed = tryParseImageReference(reference);
  if (parsed?.digest !== undefined) throw new Refusal(400, 'refusing to create a tag with a digest reference');
  const tag = familiar(reference);
  if (tag === undefined) throw new Refusal(400, 'invalid tag format');
  world.tags.set(tag, image.id);
  emitEvent(world, 'image', 'tag', image.id, { ...image.config.Labels, name: tag });
}

/**
 * Removes a reference, and with the last one the image, unless a container uses it. The rules are the same as for
 * `docker image rm` without force: https://docs.docker.com/reference/cli/docker/image/rm/
 */
export function removeImage(world: World, idOrReference: string): void {
  const stored = getImage(world, idOrReference);
  const { tags, digests } = summariseImage(world, stored);
  const users = [...world.containers.values()].filter(({ imageId }) => imageId === stored.image.id);
  const running = users.find(({ process }) => process !== undefined);
  const reference = familiar(idOrReference);
  const oneName = isKnownByOneName(tags, digests);
  if (reference !== undefined && (tags.includes(reference) || digests.includes(reference))) {
    if (oneName && users[0] !== undefined) throw inUseByName(idOrReference, users[0], stored);
    removeReference(world, stored, reference);
    const rest = summariseImage(world, stored);
    if (rest.tags.length + rest.digests.length === 0 && users.length === 0) deleteImage(world, stored);
    return;
  }
  if (running !== undefined)
    throw inUse(stored, 'cannot be forced', `being used by running container ${short(running.id)}`);
  if (users[0] !== undefined)
    throw inUse(stored, 'must be forced', `being used by stopped container ${short(users[0].id)}`);
  if (!oneName) throw inUse(stored, 'must be forced', 'referenced in multiple repositories');
  for (const name of [...tags, ...digests]) untag(world, stored, name);
  deleteImage(world, stored);
}

function summariseImage(world: World, stored: StoredImage): ImageSummary {
  const tags = [...world.tags].filter(([, id]) => id === stored.image.id).map(([tag]) => tag);
  return summaryOf(stored, tags);
}

/** Every image in one pass over the tags, newest first. */
export function listImages(world: World): readonly ImageSummary[] {
  const tags = new Map<string, string[]>();
  for (const [tag, id] of world.tags) tags.set(id, [...(tags.get(id) ?? []), tag]);
  return [...world.images.values()]
    .sort((a, b) => b.image.createdAtMs - a.image.createdAtMs)
    .map((stored) => summaryOf(stored, tags.get(stored.image.id) ?? []));
}

function summaryOf({ image, digests }: StoredImage, tags: readonly string[]): ImageSummary {
  const { id, createdAtMs, config } = image;
  return { id, tags, digests: [...digests], labels: config.Labels ?? {}, createdAtMs };
}

export function inspectImage(world: World, stored: StoredImage): Image {
  const { platform, createdAtMs, config } = stored.image;
  return { ...summariseImage(world, stored), ...platform, createdAtMs, config };
}

/** At most one tag, and no digest of another repository. */
function isKnownByOneName(tags: readonly string[], digests: readonly string[]): boolean {
  if (tags.length + digests.length <= 1) return true;
  if (tags.length > 1) return false;
  const repositories = new Set(digests.map(repositoryOf));
  const [tag = digests[0] ?? ''] = tags;
  return repositories.size === 1 && repositories.has(repositoryOf(tag));
}

/** If the last tag of a repository is removed, its digests are removed too. */
function removeReference(world: World, stored: StoredImage, reference: string): void {
  untag(world, stored, reference);
  if (reference.includes('@')) return;
  const repository = repositoryOf(reference);
  const { tags, digests } = summariseImage(world, stored);
  if (tags.some((tag) => repositoryOf(tag) === repository)) return;
  for (const digest of digests) if (repositoryOf(digest) === repository) untag(world, stored, digest);
}

function untag(world: World, { image, digests }: StoredImage, reference: string): void {
  digests.delete(reference);
  if (world.tags.get(reference) === image.id) world.tags.delete(reference);
  emitEvent(world, 'image', 'untag', image.id, { ...image.config.Labels, name: image.id });
}

function deleteImage(world: World, { image }: StoredImage): void {
  world.images.delete(image.id);
  emitEvent(world, 'image', 'delete', image.id, { name: image.id });
}

function repositoryOf(reference: string): string {
  return reference.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
}

function inUseByName(reference: string, container: SandboxContainer, { image }: StoredImage): Refusal {
  const why = `container ${short(container.id)} is using its referenced image ${short(image.id)}`;
  return new Refusal(409, `conflict: unable to remove repository reference "${reference}" (must force) - ${why}`);
}

function inUse({ image }: StoredImage, force: string, why: string): Refusal {
  return new Refusal(409, `conflict: unable to delete ${short(image.id)} (${force}) - image is ${why}`);
}

function short(id: string): string {
  return id.replace('sha256:', '').slice(0, 12);
}

/** Fetches from the registries, layer by layer. An interrupted pull stores no data. */
export async function pullImage(world: World, request: PullRequest, signal: AbortSignal): Promise<void> {
  const reference = tryParseImageReference(request.reference);
  if (reference === undefined) throw pullFailed(request.reference, 'invalid reference format');
  const manifest = await fetchManifest(world, reference, { credentials: request.credentials, signal });
  const image = chooseImage(request, manifest, request.platform ?? world.platform);
  await downloadLayers(world, { request, reference, image }, signal);
  keep(world, reference, manifest, image);
}

async function fetchManifest(world: World, reference: ImageReference, visitor: RegistryCaller): Promise<Manifest> {
  const shown = familiarReference(reference);
  if (world.registries === undefined) throw pullFailed(shown, 'the sandbox has no registry');
  try {
    return await world.registries.fetch(reference, visitor);
  } catch (error) {
    if (error instanceof ServiceError) throw pullFailed(shown, error.message, error);
    throw error;
  }
}

function chooseImage(request: PullRequest, manifest: Manifest, platform: Platform): SandboxImage {
  const image = imageFor(manifest, platform);
  if (image !== undefined) return image;
  throw pullFailed(
    request.reference,
    `no matching manifest for ${formatPlatform(platform)} in the manifest list entries`,
  );
}

type Download = { readonly request: PullRequest; readonly reference: ImageReference; readonly image: SandboxImage };

async function downloadLayers(world: World, download: Download, signal: AbortSignal): Promise<void> {
  const { request, image } = download;
  const layers = world.images.has(image.id) ? [] : image.layers;
  const totalBytes = layers.map(({ bytes }) => bytes).reduce((sum, bytes) => sum + bytes, 0);
  const report = (layersDone: number, bytes: number) =>
    request.onProgress?.({ layersDone, layers: layers.length, bytes, totalBytes });
  let before = 0;
  for (const [layersDone, { bytes }] of layers.entries()) {
    for (const share of [0, 0.5, 1]) {
      if (share > 0 && world.pullStepMs > 0) await world.clock.sleep(world.pullStepMs, signal);
      signal.throwIfAborted();
      if (share === 1) await meetFault(world, download, signal);
      report(layersDone, before + Math.round(bytes * share));
    }
    before += bytes;
  }
  report(layers.length, totalBytes);
}

/** The fault comes when half of a layer is loaded. */
async function meetFault(world: World, { request, reference }: Download, signal: AbortSignal): Promise<void> {
  const fault = world.registries?.pullFault(reference);
  if (world.condition.diskFull) throw pullFailed(request.reference, noSpaceLeft);
  if (fault === undefined) return;
  if (fault.kind === 'breaks') throw pullFailed(request.reference, fault.message);
  const patienceMs = request.idleTimeoutMs ?? defaultPatienceMs;
  await world.clock.sleep(patienceMs, signal);
  throw pullFailed(request.reference, `no progress for ${patienceMs / 1000} s`);
}

/** The default that `PullRequest` documents. */
const defaultPatienceMs = 600_000;

function keep(world: World, reference: ImageReference, manifest: Manifest, image: SandboxImage): void {
  const byDigest = { ...reference, tag: undefined, digest: manifest.digest };
  storeImage(world, image).digests.add(familiarReference(byDigest));
  const shown = familiarReference(reference.digest === undefined ? reference : { ...reference, tag: undefined });
  if (reference.digest === undefined) world.tags.set(shown, image.id);
  emitEvent(world, 'image', 'pull', shown, { ...image.config.Labels, name: shown.replace(/@.*$|:[^/:]*$/, '') });
}

function pullFailed(reference: string, why: string, cause?: unknown): ServiceError {
  return new ServiceError('pull-failed', `Cannot pull "${reference}": ${why}`, { cause });
}
