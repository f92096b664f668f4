import { setMaxListeners } from 'node:events';
import type {
  DescribeRequest,
  Registry,
  RegistryCredentials,
  RemoteConfig,
  RemoteImage,
  TagList,
} from '../../src/domain/outside/registry.ts';
import { versionLabels } from '../../src/domain/image/labels.ts';
import { sourceAnnotations } from '../../src/domain/image/image-source.ts';
import {
  alternativesTo,
  choosePlatform,
  formatPlatform,
  normalisePlatform,
  type Platform,
} from '../../src/domain/image/platform.ts';
import { ServiceError } from '../../src/domain/text/errors.ts';
import {
  formatReference,
  repositoryName,
  withDigest,
  type ImageReference,
  type Digest,
} from '../../src/domain/image/image-reference.ts';
import type { Clock } from '../../src/domain/outside/outside.ts';
import {
  createRegistryStore,
  type RegistryStore,
  type RegistryCaller,
  type Manifest,
  type SandboxImage,
} from './registry-store.ts';

export type SandboxRegistry = {
  readonly registry: Registry;
  /** Content of the registries; an engine uses it for its pulls. */
  readonly store: RegistryStore;
};

export type SandboxRegistryOptions = {
  readonly clock: Clock;
  /** Existing registries, for another client of them. */
  readonly store?: RegistryStore;
  /** Latency of every request; default 0. */
  readonly latencyMs?: number;
  /** Logins by host. */
  readonly credentials?: Readonly<Record<string, RegistryCredentials>>;
};

/** Registries in memory, under any host name. */
export function createSandboxRegistry(options: SandboxRegistryOptions): SandboxRegistry {
  const { clock, store = createRegistryStore(clock), latencyMs = 0, credentials = {} } = options;
  const inFlight = new Map<string, Promise<Manifest>>();

  const listing = new Map<string, Promise<TagList>>();

  function fetchOnce(reference: ImageReference, signal?: AbortSignal): Promise<Manifest> {
    return abortable(
      once(inFlight, formatReference(reference), () => visit(reference, store.fetch)),
      signal,
    );
  }

  function listTags(reference: ImageReference, signal?: AbortSignal): Promise<TagList> {
    return abortable(
      once(listing, repositoryName(reference), () => visit(reference, store.list)),
      signal,
    );
  }

  async function visit<Found>(reference: ImageReference, ask: Ask<Found>): Promise<Found> {
    if (latencyMs > 0) await clock.sleep(latencyMs);
    return ask(reference, { credentials: credentials[reference.registry] });
  }

  const timeAt = () => clock.nowMs();

  async function resolve(reference: ImageReference, signal?: AbortSignal): Promise<Digest> {
    const { digest, tag } = reference;
    if (digest !== undefined && tag === undefined) return digest;
    return (await fetchOnce({ ...reference, digest: undefined }, signal)).digest;
  }

  async function describe(
    { reference, digest, platform }: DescribeRequest,
    signal?: AbortSignal,
  ): Promise<RemoteImage> {
    const manifest = await fetchOnce(withDigest(reference, digest), signal);
    const image = imageFor(manifest, platform);
    if (image !== undefined)
      return { ...remoteImage(manifest.digest, image), ...alternativesIn(manifest, image, platform) };
    throw new ServiceError(
      'registry-not-found',
      `Cannot describe "${formatReference(reference)}": it has no image for ${formatPlatform(platform)}`,
    );
  }

  async function configOf(
    reference: ImageReference,
    { manifestDigest }: Pick<RemoteImage, 'manifestDigest'>,
    signal?: AbortSignal,
  ): Promise<RemoteConfig> {
    const manifest = await fetchOnce(withDigest(reference, manifestDigest), signal);
    const image = manifest.kind === 'image' ? manifest.image : undefined;
    if (image !== undefined) return { ...image.platform, createdAtMs: image.createdAtMs, config: image.config };
    throw new ServiceError('registry-invalid', `Cannot read the configuration of "${formatReference(reference)}"`);
  }

  async function platformsOf(
    reference: ImageReference,
    digest: Digest,
    signal?: AbortSignal,
  ): Promise<readonly Platform[]> {
    const manifest = await fetchOnce(withDigest(reference, digest), signal);
    const images = manifest.kind === 'image' ? [manifest.image] : manifest.images;
    return images.map(({ platform }) => normalisePlatform(platform));
  }

  return {
    store,
    registry: {
      resolve,
      listTags,
      signaturesOf: async (reference, digest, signal) => ({
        found: await abortable(visit(withDigest(reference, digest), store.signatures), signal),
      }),
      describe,
      configOf,
      platformsOf,
      timeAt,
      credentialsFor: (reference) => Promise.resolve(credentials[reference.registry]),
      close: () => Promise.resolve(),
    },
  };
}

type Ask<Found> = (reference: ImageReference, visitor: RegistryCaller) => Promise<Found>;

/** Joins the running work for the key. */
function once<Found>(running: Map<string, Promise<Found>>, key: string, work: () => Promise<Found>): Promise<Found> {
  const found = running.get(key) ?? work().finally(() => running.delete(key));
  running.set(key, found);
  return found;
}

/** The image that an engine of the platform uses; a manifest without an index is used for every platform. */
export function imageFor(manifest: Manifest, platform: DescribeRequest['platform']): SandboxImage | undefined {
  return manifest.kind === 'image' ? manifest.image : choosePlatform(entriesOf(manifest), platform)?.image;
}

function entriesOf(manifest: Manifest) {
  const images = manifest.kind === 'image' ? [] : manifest.images;
  return images.map((image) => ({ platform: image.platform, digest: image.manifestDigest, image }));
}

function alternativesIn(manifest: Manifest, chosen: SandboxImage, wanted: Platform): Pick<RemoteImage, 'alternatives'> {
  const entries = entriesOf(manifest);
  const entry = entries.find(({ image }) => image === chosen);
  const others = entry === undefined ? [] : alternativesTo(entry, entries, wanted);
  if (others.length === 0) return {};
  return { alternatives: others.map(({ digest, image }) => ({ manifestDigest: digest, configDigest: image.id })) };
}

function remoteImage(digest: Digest, image: SandboxImage): RemoteImage {
  const shown = new Set([...versionLabels, ...sourceAnnotations]);
  const labels = Object.entries(image.config.Labels ?? {}).filter(([name]) => shown.has(name));
  return {
    digest,
    manifestDigest: image.manifestDigest,
    configDigest: image.id,
    platform: image.platform,
    createdAtMs: image.createdAtMs < earliestMs ? undefined : image.createdAtMs,
    layerBytes: image.layers.reduce((sum, { bytes }) => sum + bytes, 0),
    ...(labels.length > 0 && { labels: Object.fromEntries(labels) }),
  };
}

/** Reproducible builds have a placeholder as date: 1970, or a second after 1980 began, as in buildpacks. */
const earliestMs = Date.UTC(1980, 0, 2);

async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  signal.throwIfAborted();
  // All images of a check are requested at once with one signal.
  setMaxListeners(0, signal);
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
