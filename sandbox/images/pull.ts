import type { PullRequest } from '../../src/domain/outside/engine-writer.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import {
  familiarReference,
  tryParseImageReference,
  type ImageReference,
} from '../../src/domain/reference/image-reference.ts';
import { formatPlatform, type Platform } from '../../src/domain/reference/platform.ts';
import { storeImage } from './images.ts';
import { imageFor } from '../registry/registry.ts';
import type { RegistryCaller } from '../registry/registry-store.ts';
import type { Manifest, SandboxImage } from '../registry/release.ts';
import { emitEvent, noSpaceLeft, type World } from '../world/world.ts';

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
