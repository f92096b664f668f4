import type { Container, ContainerSummary, Image, ImageSummary } from '../../domain/container/container.ts';
import { isImageId } from '../../domain/check/container-reference.ts';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import type { EngineReader } from '../../domain/outside/engine.ts';
import type { ConfigUse, ImageConfigs, ReadOnlyOutside } from '../../domain/outside/outside.ts';
import {
  parseDigest,
  repositoryName,
  tryParseImageReference,
  type Digest,
  type ImageReference,
} from '../../domain/image/image-reference.ts';
import type { Platform } from '../../domain/image/platform.ts';
import { putNewest } from '../../domain/text/plain-data.ts';
import { mapConcurrently } from '../async/concurrency.ts';
import { waitAtMost } from '../async/stopped.ts';

/**
 * The configurations of images whose configuration the engine does not know, and the same engine with those that were
 * read. Its own methods ask no registry, because a recovery must not wait for one. They are read by the digest of a
 * manifest that the engine names, so any registry may give them.
 */
export function createImageConfigs<Reader extends EngineReader>({
  engine,
  registry,
  clock,
}: Pick<ReadOnlyOutside, 'registry' | 'clock'> & { readonly engine: Reader }): {
  readonly engine: Reader;
  readonly configs: ImageConfigs;
} {
  /** By image id. */
  const known = new Map<string, ReadConfig>();
  const failed = new Map<string, { readonly why: string; readonly atMs: number }>();

  function completed<Each extends ImageSummary>(image: Each): Each {
    const read = image.isConfigUnknown ? known.get(image.id) : undefined;
    return read === undefined ? image : withConfig(image, read);
  }

  function withLabels(container: Container): Container {
    const read = container.imageLabels === undefined ? known.get(container.imageId) : undefined;
    const isOfOther = container.manifestDigest !== undefined && container.manifestDigest !== read?.configManifest;
    return read === undefined || isOfOther ? container : { ...container, imageLabels: read.labels };
  }

  async function complete<Each extends ImageSummary>(image: Each, use: ConfigUse, signal?: AbortSignal): Promise<Each> {
    const isOfOther = use.manifestDigest !== undefined && image.configManifest !== use.manifestDigest;
    if (!image.isConfigUnknown && (image.configManifest === undefined || !isOfOther)) return image;
    const last = failed.get(image.id);
    if (last !== undefined && clock.monotonicMs() - last.atMs < retryAfterMs) return withFault(image, last.why);
    try {
      const read = await inTime((either) => readConfig(image, use, either), signal);
      putNewest(known, image.id, read, maxKnown);
      return withConfig(image, read);
    } catch (error) {
      if (signal?.aborted || !(error instanceof ServiceError)) throw error;
      const why = describeError(error);
      putNewest(failed, image.id, { why, atMs: clock.monotonicMs() }, maxKnown);
      return withFault(image, why);
    }
  }

  async function readConfig(image: ImageSummary, use: ConfigUse, signal: AbortSignal): Promise<ReadConfig> {
    const digest = use.manifestDigest ?? parseDigest(image.id);
    let failure = new ServiceError('not-found', 'no registry is known that has it');
    for (const [at, reference] of repositoriesOf([...use.references, ...image.digests]).entries()) {
      try {
        if (digest !== undefined) return await readFrom(reference, digest, use, signal);
      } catch (error) {
        if (signal.aborted || !(error instanceof ServiceError)) throw error;
        if (at === 0) failure = error;
      }
    }
    throw failure;
  }

  async function readFrom(
    reference: ImageReference,
    digest: Digest,
    { manifestDigest, platform }: ConfigUse,
    signal: AbortSignal,
  ): Promise<ReadConfig> {
    const isSure = manifestDigest !== undefined || platform !== undefined;
    const described = registry.describe({ reference, digest, platform: platform ?? noPlatform }, signal);
    const remote = await described.catch((error: unknown) => {
      // A manifest is an image for no platform too, an index is not.
      throw isSure || !isNotFound(error) ? error : new ServiceError('not-found', unclear, { cause: error });
    });
    const { config, ...facts } = await registry.configOf(reference, remote, signal);
    return { ...facts, config, labels: config.Labels ?? {}, configManifest: remote.manifestDigest };
  }

  async function inTime<Result>(
    work: (signal: AbortSignal) => Promise<Result>,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    const late = new AbortController();
    const running = work(signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]));
    await waitAtMost(maxWaitMs, running, clock, signal);
    late.abort(new ServiceError('timeout', 'the registry did not answer in time'));
    return running;
  }

  return {
    configs: { complete },
    engine: {
      ...engine,
      inspectContainer: async (idOrName: string, signal?: AbortSignal) => {
        const container = await engine.inspectContainer(idOrName, signal);
        return container && withLabels(container);
      },
      inspectImage: async (idOrReference: string, signal?: AbortSignal) => {
        const image = await engine.inspectImage(idOrReference, signal);
        return image && completed(image);
      },
      listImages: async (signal?: AbortSignal) => {
        const images = await engine.listImages(signal);
        return images.some(({ isConfigUnknown }) => isConfigUnknown) ? images.map(completed) : images;
      },
    },
  };
}

type ReadConfig = Required<
  Pick<Image, 'os' | 'architecture' | 'variant' | 'createdAtMs' | 'config' | 'labels' | 'configManifest'>
>;

const unclear = 'the engine does not show which image of its index the container runs';

function isNotFound(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'registry-not-found';
}

/** More than an engine has of such images. */
const maxKnown = 500;

const retryAfterMs = 60_000;

/** For all requests about one image. A registry that is away must not hold up the check of other containers for long. */
const maxWaitMs = 15_000;

/** The digest of a manifest leaves no choice. */
const noPlatform: Platform = { os: '', architecture: '', variant: '' };

function withConfig<Each extends ImageSummary>(image: Each, read: ReadConfig): Each {
  const { isConfigUnknown, configFault, ...rest } = image;
  return { ...rest, ...read } as unknown as Each;
}

function withFault<Each extends ImageSummary>(image: Each, configFault: string): Each {
  return { ...image, isConfigUnknown: true, configFault };
}

/** One reference for each repository. At most three, because each may cost a request. */
function repositoriesOf(texts: readonly string[]): readonly ImageReference[] {
  const found = new Map<string, ImageReference>();
  for (const text of texts) {
    const reference = text.startsWith('sha256:') ? undefined : tryParseImageReference(text);
    if (reference !== undefined) found.set(repositoryName(reference), reference);
  }
  return [...found.values()].slice(0, 3);
}

/** The images with the configurations of those that containers use. The engine is asked only if it does not know one. */
export async function completeImages(
  { engine, configs }: Pick<ReadOnlyOutside, 'engine' | 'configs'>,
  containers: readonly ContainerSummary[],
  images: readonly ImageSummary[],
  signal: AbortSignal | undefined,
): Promise<readonly ImageSummary[]> {
  if (configs === undefined || !images.some(isFromRegistry)) return images;
  return mapConcurrently(images, 4, async (image) => {
    const users = isFromRegistry(image) ? containers.filter(({ imageId }) => imageId === image.id) : [];
    if (users.length === 0) return image;
    const [manifestDigest, ...others] = new Set(users.map((user) => user.manifestDigest));
    if (others.length > 0) return withFault(image, 'its containers run different images of its index');
    if (!image.isConfigUnknown && image.configManifest === manifestDigest) return image;
    const references = await Promise.all(
      users.slice(0, 2).map(async ({ id, image: listed, imageId }) => {
        if (!isImageId(listed, imageId)) return listed;
        return (await engine.inspectContainer(id, signal).catch(() => undefined))?.settings.Config.Image ?? '';
      }),
    );
    return configs.complete(image, { references, manifestDigest }, signal);
  });
}

function isFromRegistry({ isConfigUnknown, configManifest }: ImageSummary): boolean {
  return isConfigUnknown === true || configManifest !== undefined;
}

/** The image that a container runs, with its configuration if the engine or the registry knows it. */
export async function imageOf(
  { engine, configs }: Pick<ReadOnlyOutside, 'engine' | 'configs'>,
  { imageId, manifestDigest, settings }: Container,
  signal?: AbortSignal,
): Promise<Image | undefined> {
  const image = await engine.inspectImage(imageId, signal);
  if (image === undefined || configs === undefined) return image;
  return configs.complete(image, { references: [settings.Config.Image], manifestDigest }, signal);
}
