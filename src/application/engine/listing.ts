import type { Container, ContainerSummary, ImageSummary, Image } from '../../domain/container/container.ts';
import { failedVersionsOf, type FailedVersion } from '../../domain/check/known-versions.ts';
import { indexImages, unlistedImageIds, type ImageIndex } from '../../domain/container/lookup.ts';
import type { ReadOnlyOutside, ConfigUse, ImageConfigs } from '../../domain/outside/outside.ts';
import { doubtfulWays, ownWays, type OwnWays } from '../../domain/self-update/own-ways.ts';
import { inspectionsAtOnce, mapConcurrently, stoppedError, waitAtMost } from '../async/concurrency.ts';
import { isImageId } from '../../domain/check/container-reference.ts';
import { describeError, ServiceError, type ErrorCode } from '../../domain/text/errors.ts';
import type { EngineReader, FailedServiceVersion, SwarmReader, SwarmState } from '../../domain/outside/engine.ts';
import {
  parseDigest,
  repositoryName,
  tryParseImageReference,
  type Digest,
  type ImageReference,
} from '../../domain/image/image-reference.ts';
import { runsOtherThan, type ForeignPlatform, type Platform } from '../../domain/image/platform.ts';
import { addTo, defined, putNewest } from '../../domain/text/plain-data.ts';
import type { SwarmNode, SwarmService } from '../../domain/container/swarm-service.ts';

/**
 * The engine's containers and images. One listing serves a whole run, which inspects only the containers that it may
 * change.
 */
export type Listing = {
  readonly containers: readonly ContainerSummary[];
  readonly images: ImageIndex;
  /** Images as the engine lists them: with the tags that mark updates, without untagged parents of other images. */
  readonly listedImages: readonly ImageSummary[];
  readonly failedVersions: readonly FailedVersion[];
  /** Absent unless services are watched. */
  readonly services?: ServiceListing;
  /** The time before the first call. */
  readonly begunAt: { readonly wallMs: number; readonly monotonicMs: number };
};

/**
 * Makes two calls, and one more for each image that the engine does not list. What the engine does not know of an image
 * is read from its registry. Throws a `ServiceError`.
 */
export async function listAll(outside: ReadOnlyOutside, signal: AbortSignal | undefined): Promise<Listing> {
  const { engine, clock, log } = outside;
  const begunAt = { wallMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
  try {
    const [containers, images, services] = await Promise.all([
      engine.listContainers({}, signal),
      engine.listImages(signal),
      listServices(outside, signal),
    ]);
    const found = await mapConcurrently(unlistedImageIds(containers, images), 4, (id) =>
      unlessBroken(
        outside,
        () => engine.inspectImage(id, signal),
        (error) => log.warn('An image cannot be inspected', { image: id, error }),
        signal,
      ),
    );
    const all = [...images, ...found.filter((image) => image !== undefined)];
    return {
      containers,
      images: indexImages(await completeImages(outside, containers, all, signal)),
      listedImages: images,
      failedVersions: failedVersionsOf(images),
      ...(services && { services }),
      begunAt,
    };
  } catch (error) {
    throw signal?.aborted ? stoppedError(signal, 'check containers') : error;
  }
}

/**
 * The containers of a listing that this process must not stop: see `ownWays()`. It makes no call where this process uses
 * the engine's own socket, and where the list shows enough. An inspection in the life of a container is enough: its
 * mounts and the mode of its network are fixed.
 */
export async function readOwnWays(
  {
    engine,
    instance,
    routes,
    log,
    picture,
  }: Pick<ReadOnlyOutside, 'engine' | 'instance' | 'routes' | 'log' | 'picture'>,
  containers: readonly ContainerSummary[],
  signal?: AbortSignal,
): Promise<OwnWays> {
  const facts = { containers, ownId: instance.containerId, routes: routes?.() };
  const inspected = new Map<string, Container>();
  await mapConcurrently(doubtfulWays(facts), inspectionsAtOnce, async (id) => {
    const note = (error: string) =>
      log.debug('A container cannot be inspected, so the way to the engine may be unknown', { error });
    const seen = picture?.containerSince(id, -Infinity);
    const container = seen ?? (await unlessBroken({ engine }, () => engine.inspectContainer(id, signal), note, signal));
    if (container !== undefined) inspected.set(id, container);
  });
  return ownWays({ ...facts, inspected });
}

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
    const isOfAnother = container.manifestDigest !== undefined && container.manifestDigest !== read?.configManifest;
    return read === undefined || isOfAnother ? container : { ...container, imageLabels: read.labels };
  }

  async function complete<Each extends ImageSummary>(image: Each, use: ConfigUse, signal?: AbortSignal): Promise<Each> {
    if (!image.isConfigUnknown && !isOfOther(image, use)) return image;
    const before = known.get(image.id);
    if (before !== undefined && before.configManifest === use.manifestDigest) return withConfig(image, before);
    const place = `${image.id} ${use.manifestDigest ?? ''}`;
    const last = failed.get(place);
    if (last !== undefined && clock.monotonicMs() - last.atMs < retryAfterMs) return withFault(image, last.why);
    try {
      const read = await inTime((either) => readConfig(image, use, either), signal);
      putNewest(known, image.id, read, maxKnown);
      return withConfig(image, read);
    } catch (error) {
      if (signal?.aborted || !(error instanceof ServiceError)) throw error;
      const why = describeError(error);
      putNewest(failed, place, { why, atMs: clock.monotonicMs() }, maxKnown);
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

/** Whether the image has the configuration of another manifest than the one in use. */
function isOfOther(image: ImageSummary & ForeignPlatform, { manifestDigest, platform }: ConfigUse): boolean {
  if (manifestDigest === undefined || manifestDigest === image.id) return false;
  return image.configManifest === undefined ? runsOtherThan(image, platform) : image.configManifest !== manifestDigest;
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
async function completeImages(
  { engine, configs, picture }: Pick<ReadOnlyOutside, 'engine' | 'configs' | 'picture'>,
  containers: readonly ContainerSummary[],
  images: readonly ImageSummary[],
  signal: AbortSignal | undefined,
): Promise<readonly ImageSummary[]> {
  if (configs === undefined) return images;
  const usersOf = new Map<string, ContainerSummary[]>();
  for (const user of containers) addTo(usersOf, user.imageId, user);
  return mapConcurrently(images, 4, async (image) => {
    const users = usersOf.get(image.id) ?? [];
    const manifests = users.map((user) => user.manifestDigest);
    // A container of before an upgrade of the engine names no manifest.
    const [manifestDigest, ...others] = new Set(
      isFromRegistry(image) ? manifests : manifests.filter((one) => one !== undefined),
    );
    if (others.length > 0) return withFault(image, 'its containers run different images of its index');
    const platform = users.find((user) => user.platform !== undefined)?.platform;
    if (users.length === 0 || (!isFromRegistry(image) && platform === undefined)) return image;
    if (!image.isConfigUnknown && image.configManifest === manifestDigest) return image;
    // A list does not show of which platform the labels of an index are.
    const seen = platform && (picture?.image(image.id) ?? (await engine.inspectImage(image.id, signal)));
    const { os, architecture, variant } = seen ?? {};
    const shown = { ...image, ...defined({ os, architecture, variant }) };
    if (seen !== undefined && !image.isConfigUnknown && !runsOtherThan(shown, platform)) return image;
    const references = await Promise.all(
      users.slice(0, 2).map(async ({ id, image: listed, imageId }) => {
        if (!isImageId(listed, imageId)) return listed;
        return (await engine.inspectContainer(id, signal).catch(() => undefined))?.settings.Config.Image ?? '';
      }),
    );
    return configs.complete(shown, { references, manifestDigest, ...(platform && { platform }) }, signal);
  });
}

function isFromRegistry({ isConfigUnknown, configManifest }: ImageSummary): boolean {
  return isConfigUnknown === true || configManifest !== undefined;
}

/** The image that a container runs, with its configuration if the engine or the registry knows it. */
export async function imageOf(
  { engine, configs }: Pick<ReadOnlyOutside, 'engine' | 'configs'>,
  container: Container,
  signal?: AbortSignal,
): Promise<Image | undefined> {
  const image = await engine.inspectImage(container.imageId, signal);
  if (image === undefined || configs === undefined) return image;
  return configs.complete(image, useOf(container), signal);
}

function useOf({ manifestDigest, platform, settings }: Container): ConfigUse {
  const chosen = manifestDigest !== undefined && platform !== undefined ? { platform } : {};
  return { references: [settings.Config.Image], manifestDigest, ...chosen };
}

/** The same, without a call if the image was seen before. The engine may have removed it since. */
export async function contentOf(
  outside: Pick<ReadOnlyOutside, 'engine' | 'configs' | 'picture'>,
  container: Container,
  signal?: AbortSignal,
): Promise<Image | undefined> {
  const seen = outside.picture?.image(container.imageId);
  if (seen === undefined || outside.configs === undefined) return seen ?? imageOf(outside, container, signal);
  return outside.configs.complete(seen, useOf(container), signal);
}

/** The services of a swarm with their tasks and nodes, from one reading. */
export type ServiceListing = {
  readonly services: readonly SwarmService[];
  readonly nodes: readonly SwarmNode[];
  readonly failures: readonly FailedServiceVersion[];
};

/**
 * Lists the services. Undefined outside a swarm, and if services are not watched. Asks the node for its role first,
 * because a swarm without a leader takes 20 s to answer. Throws a `ServiceError`.
 */
export async function listServices(
  { swarm, log }: Pick<ReadOnlyOutside, 'swarm' | 'log'>,
  signal?: AbortSignal,
): Promise<ServiceListing | undefined> {
  if (swarm === undefined) return undefined;
  const state = await swarm.state(signal);
  if (state.kind === 'leaderless') throw leaderless(state.message);
  if (state.kind !== 'manager') {
    log.debug('No services are watched', { reason: whyNoManager(state) });
    return undefined;
  }
  const [services, nodes, failures] = await Promise.all([
    swarm.services(signal),
    swarm.nodes(signal),
    readFailures(swarm, log, signal),
  ]);
  return { services: services.toSorted((one, other) => compare(one.name, other.name)), nodes, failures };
}

/** Throws an error for a person who asked for services on an engine that cannot have any. */
export async function requireManager(swarm: Pick<SwarmReader, 'state'>, signal?: AbortSignal): Promise<void> {
  const state = await swarm.state(signal);
  if (state.kind === 'leaderless') throw leaderless(state.message);
  if (state.kind === 'manager') return;
  throw new ServiceError('invalid-input', `Cannot use --swarm: ${whyNoManager(state)}`, {
    remedy: 'Name a manager of the swarm with --host, or remove --swarm (UPKEEP_SWARM)',
  });
}

function whyNoManager({ kind }: Pick<SwarmState, 'kind'>): string {
  return kind === 'worker'
    ? 'this engine is a worker of its swarm, and only a manager knows the services'
    : 'this engine is in no swarm';
}

function leaderless(message: string): ServiceError {
  return new ServiceError('engine-unreachable', `Cannot list the services of the swarm: it has no leader: ${message}`, {
    remedy: 'Bring back the majority of its managers: docker node ls',
  });
}

/** A proxy may forbid configs. The swarm's own update state is then the only memory. */
async function readFailures(
  swarm: SwarmReader,
  log: Pick<ReadOnlyOutside['log'], 'warn'>,
  signal: AbortSignal | undefined,
): Promise<readonly FailedServiceVersion[]> {
  try {
    return await swarm.failures(signal);
  } catch (error) {
    if (signal?.aborted || !(error instanceof ServiceError) || error.code === 'engine-unreachable') throw error;
    log.warn('Versions that failed in services cannot be read', { error: describeError(error) });
    return [];
  }
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** The answer about one object, or undefined if the engine cannot give it. `note` is called with the reason then. */
export async function unlessBroken<Answer>(
  { engine }: { readonly engine: Pick<EngineReader, 'ping'> },
  ask: () => Promise<Answer>,
  note: (reason: string) => void,
  signal: AbortSignal | undefined,
): Promise<Answer | undefined> {
  try {
    return await ask();
  } catch (error) {
    const { message } = await objectErrorOrThrow(engine, error, signal);
    note(message);
    return undefined;
  }
}

/**
 * Returns the error of an inspection if it concerns the inspected object alone, so that other containers can still be
 * updated. Throws it if the engine itself fails or the caller aborts.
 */
export async function objectErrorOrThrow(
  engine: Pick<EngineReader, 'ping'>,
  error: unknown,
  signal: AbortSignal | undefined,
): Promise<ServiceError> {
  if (signal?.aborted || !(error instanceof ServiceError) || fatal.includes(error.code)) throw error;
  // A process that hangs in the kernel blocks the inspection of its own container only.
  if (error.code === 'timeout') await engine.ping(signal);
  return error;
}

const fatal: readonly ErrorCode[] = ['engine-unreachable', 'engine-denied', 'cancelled'];
