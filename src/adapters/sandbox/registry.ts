import { ServiceError } from '../../domain/errors.ts';
import { formatReference, withDigest } from '../../domain/image-reference.ts';
import type { Clock, DescribeRequest, Registry, RegistryCredentials, RemoteImage } from '../../domain/outside.ts';
import { choosePlatform, formatPlatform } from '../../domain/platform.ts';
import type { Digest } from '../../domain/digest.ts';
import { createRegistryStore, type RegistryStore } from './registry-store.ts';
import type { Manifest, SandboxImage } from './release.ts';

export type SandboxRegistry = {
  readonly registry: Registry;
  /** What the registries hold; give it to an engine so that it pulls from there. */
  readonly store: RegistryStore;
};

export type SandboxRegistryOptions = {
  readonly clock: Clock;
  /** Every request takes so long; 0 unless told. */
  readonly latencyMs?: number;
  /** By host. */
  readonly credentials?: Readonly<Record<string, RegistryCredentials>>;
};

/** Registries in memory, under any host name. */
export function createSandboxRegistry({
  clock,
  latencyMs = 0,
  credentials = {},
}: SandboxRegistryOptions): SandboxRegistry {
  const store = createRegistryStore(clock);
  const inFlight = new Map<string, Promise<Manifest>>();

  function fetchOnce(request: DescribeRequest['reference'], signal?: AbortSignal): Promise<Manifest> {
    const key = formatReference(request);
    const running = inFlight.get(key) ?? fetch(request).finally(() => inFlight.delete(key));
    inFlight.set(key, running);
    return abortable(running, signal);
  }

  async function fetch(reference: DescribeRequest['reference']): Promise<Manifest> {
    if (latencyMs > 0) await clock.sleep(latencyMs);
    return store.fetch(reference);
  }

  return {
    store,
    registry: {
      resolve: async (reference, signal): Promise<Digest> => (await fetchOnce(reference, signal)).digest,
      describe: async ({ reference, digest, platform }, signal): Promise<RemoteImage> => {
        const manifest = await fetchOnce(withDigest(reference, digest), signal);
        const image = imageFor(manifest, platform);
        if (image !== undefined) return remoteImage(manifest.digest, image);
        throw new ServiceError(
          'registry-not-found',
          `Cannot describe "${formatReference(reference)}": it has no image for ${formatPlatform(platform)}`,
        );
      },
      credentialsFor: (reference) => Promise.resolve(credentials[reference.registry]),
      close: () => Promise.resolve(),
    },
  };
}

/** The image that an engine of the platform takes; a manifest without an index is taken as it is. */
export function imageFor(manifest: Manifest, platform: DescribeRequest['platform']): SandboxImage | undefined {
  if (manifest.kind === 'image') return manifest.image;
  const entries = manifest.images.map((image) => ({ platform: image.platform, digest: image.manifestDigest, image }));
  return choosePlatform(entries, platform)?.image;
}

function remoteImage(digest: Digest, image: SandboxImage): RemoteImage {
  return {
    digest,
    manifestDigest: image.manifestDigest,
    configDigest: image.id,
    platform: image.platform,
    createdAtMs: image.createdAtMs,
  };
}

async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  signal.throwIfAborted();
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
