import { ServiceError } from '../../domain/errors.ts';
import { familiarReference, tryParseImageReference, type ImageReference } from '../../domain/image-reference.ts';
import type { PullProgress, PullRequest } from '../../domain/outside.ts';
import { formatPlatform, type Platform } from '../../domain/platform.ts';
import { storeImage } from './images.ts';
import { imageFor } from './registry.ts';
import type { Visitor } from './registry-store.ts';
import type { Manifest, SandboxImage } from './release.ts';
import { announce, noSpaceLeft, type World } from './world.ts';

/** Fetches from the registries, layer by layer. A pull that breaks off leaves nothing behind. */
export async function pullImage(world: World, request: PullRequest, signal: AbortSignal): Promise<void> {
  const reference = tryParseImageReference(request.reference);
  if (reference === undefined) throw pullFailed(request.reference, 'invalid reference format');
  const manifest = await fetchManifest(world, reference, { credentials: request.credentials, signal });
  const image = chooseImage(request, manifest, request.platform ?? world.platform);
  await downloadLayers(world, { request, reference, image }, signal);
  keep(world, reference, manifest, image);
}

async function fetchManifest(world: World, reference: ImageReference, visitor: Visitor): Promise<Manifest> {
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

async function downloadLayers(
  world: World,
  { request, reference, image }: Download,
  signal: AbortSignal,
): Promise<void> {
  const layers = world.images.has(image.id) ? [] : image.layers;
  const totalBytes = layers.map(({ bytes }) => bytes).reduce((sum, bytes) => sum + bytes, 0);
  const report = (progress: Partial<PullProgress>) =>
    request.onProgress?.({ layersDone: 0, layers: layers.length, bytes: 0, totalBytes, ...progress });
  let bytes = 0;
  for (const [layersDone, layer] of layers.entries()) {
    report({ layersDone, bytes });
    for (const share of [0.5, 1]) {
      if (world.pullStepMs > 0) await world.clock.sleep(world.pullStepMs, signal);
      signal.throwIfAborted();
      const fault = world.condition.diskFull ? noSpaceLeft : world.registries?.pullFault(reference);
      if (fault !== undefined && share > 0.5) throw pullFailed(request.reference, fault);
      report({ layersDone, bytes: bytes + Math.round(layer.bytes * share) });
    }
    bytes += layer.bytes;
  }
  report({ layersDone: layers.length, bytes });
}

function keep(world: World, reference: ImageReference, manifest: Manifest, image: SandboxImage): void {
  const byDigest = { ...reference, tag: undefined, digest: manifest.digest };
  storeImage(world, image).digests.add(familiarReference(byDigest));
  const shown = familiarReference(reference.digest === undefined ? reference : { ...reference, tag: undefined });
  if (reference.digest === undefined) world.tags.set(shown, image.id);
  announce(world, 'image', 'pull', shown, { ...image.config.Labels, name: shown.replace(/@.*$|:[^/:]*$/, '') });
}

function pullFailed(reference: string, why: string, cause?: unknown): ServiceError {
  return new ServiceError('pull-failed', `Cannot pull "${reference}": ${why}`, { cause });
}
