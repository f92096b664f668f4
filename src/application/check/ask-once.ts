import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import type { RemoteImage } from '../../domain/outside/registry.ts';
import type { Digest } from '../../domain/reference/digest.ts';
import type { ImageReference } from '../../domain/reference/image-reference.ts';
import { formatPlatform, type Platform, sameArchitecture } from '../../domain/reference/platform.ts';
import { remember } from '../async/remember.ts';

type OnceOptions = { readonly outside: ReadOnlyOutside; readonly signal?: AbortSignal | undefined };

export type Describer = (digest: Digest, platform: Platform) => Promise<RemoteImage>;

// The questions of one check bound the answers.
export function createDescriber(reference: ImageReference, { outside, signal }: OnceOptions): Describer {
  return remember(
    (digest: Digest, platform: Platform) => outside.registry.describe({ reference, digest, platform }, signal),
    (digest, platform) => `${digest} ${formatPlatform(platform)}`,
  );
}

export type PlatformReader = (imageId: string) => Promise<Platform>;

/** A container's platform is its engine's. An image of another architecture keeps its own, as its successor must. */
export function createPlatformReader({ outside: { engine }, signal }: OnceOptions): PlatformReader {
  const engineInfo = remember(
    () => engine.info(signal),
    () => '',
  );
  return remember(
    async (imageId: string) => {
      const [{ platform }, image] = await Promise.all([engineInfo(), engine.inspectImage(imageId, signal)]);
      if (image === undefined || sameArchitecture(image, platform)) return platform;
      return { os: image.os, architecture: image.architecture, variant: image.variant };
    },
    (imageId) => imageId,
  );
}
