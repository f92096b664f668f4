import type { Container, Image } from '../../domain/container/container.ts';
import { digestsOf } from '../../domain/container/lookup.ts';
import {
  isDigest,
  formatReference,
  parseImageReference,
  tryParseImageReference,
  withDigest,
  type Digest,
  type ImageReference,
} from '../../domain/image/image-reference.ts';
import { sameArchitecture, type Platform } from '../../domain/image/platform.ts';
import type { EngineInfo, PullRequest } from '../../domain/outside/engine.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { VerifiedImage } from '../../domain/outside/registry.ts';
import type { PlannedMember } from '../../domain/plan/update-plan.ts';
import type { PullProgress } from '../../domain/run/event.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import { defined } from '../../domain/text/plain-data.ts';
import { quoted } from '../../domain/text/printable.ts';

/**
 * The image of the planned digest: from the engine if it has it, else pulled. Undefined if it is gone after the pull.
 * Throws if the engine has no image that is proven to be the one whose signature was checked.
 */
export async function fetchImage(
  context: FetchContext,
  planned: PlannedMember,
  platform: Platform | undefined,
): Promise<Image | undefined> {
  const { engine } = context.outside;
  const { verified, digest } = planned;
  const held = planned.imageId === undefined ? undefined : await engine.inspectImage(planned.imageId, context.signal);
  if (held !== undefined || planned.mustBeHeld === true) return held;
  if (digest === undefined) return engine.inspectImage(planned.reference, context.signal);
  return verified === undefined
    ? fetchDigest(context, planned, { digest, platform })
    : fetchVerified(context, planned, { digest, platform, verified });
}

/** Of a pull for a run, which tells its progress. */
export type FetchContext = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly runId: string;
  readonly info: EngineInfo;
  readonly signal: AbortSignal | undefined;
};

type Wanted = { readonly digest: Digest; readonly platform: Platform | undefined };

/**
 * The engine chooses from an index by rules of its own. Its choice is compared with the verified image, and that image
 * is pulled by its own digest if they differ. An index without a signature is not given to the engine.
 */
async function fetchVerified(
  context: FetchContext,
  planned: PlannedMember,
  { digest, platform, verified }: Wanted & { readonly verified: VerifiedImage },
): Promise<Image> {
  const { manifestDigest, isIndexUnsigned } = verified;
  const digests = isIndexUnsigned ? [manifestDigest] : [...new Set([digest, manifestDigest])];
  for (const each of digests) {
    const image = await fetchDigest(context, planned, { digest: each, platform });
    if (image !== undefined && (await isVerified(context, image, verified))) return image;
  }
  const name = quoted(planned.container.name);
  throw new ServiceError(
    'invalid-input',
    `Cannot update ${name}: the engine does not show that its image of "${planned.reference}" is the one whose signature was checked, ${manifestDigest}`,
    { remedy: 'remove that image from the engine, so that it is pulled again' },
  );
}

/**
 * The id of an image is the digest of its config, its manifest or its index. Docker compares the layers with the config.
 * Podman 4 does not, but shows the digests of the manifests that it has pulled. An index proves nothing, unless the
 * engine has only one of its images.
 */
async function isVerified(
  { outside: { engine }, info, signal }: FetchContext,
  image: Image,
  { manifestDigest, configDigest }: VerifiedImage,
): Promise<boolean> {
  if (image.id === manifestDigest) return true;
  if (image.id === configDigest) return info.kind === 'docker' || digestsOf(image).includes(manifestDigest);
  const present = await engine.manifestsIn(image.id, signal);
  return present.length > 0 && present.every((each) => each === manifestDigest);
}

async function fetchDigest(
  { outside, settings, runId, info, signal }: FetchContext,
  { container, reference: text }: PlannedMember,
  { digest, platform }: Wanted,
): Promise<Image | undefined> {
  const reference = withDigest(parseImageReference(text), digest);
  const mayBePresent = outside.picture?.mayHave(digest) ?? true;
  const present = mayBePresent ? await outside.engine.inspectImage(formatReference(reference), signal) : undefined;
  // An index has one digest for all platforms.
  if (present !== undefined && sameArchitecture(present, platform ?? info.platform)) return present;
  const onProgress = (progress: PullProgress) =>
    outside.publish({ kind: 'pull_progress', runId, container: container.name, progress });
  return pull({ outside, settings, signal }, reference, { platform, onProgress });
}

/** An image that the engine had, by its `reference` and `digest`: `docker system prune` removes the one of a moved tag. */
export async function fetchAgain(
  context: Pick<FetchContext, 'outside' | 'settings'>,
  { id }: Image,
  {
    reference: text,
    digest,
    platform,
  }: Pick<PlannedMember, 'reference'> & {
    readonly digest: string;
    readonly platform: Platform | undefined;
  },
): Promise<Image | undefined> {
  const held = await context.outside.engine.inspectImage(id);
  const reference = tryParseImageReference(text);
  if (held !== undefined || reference === undefined || !isDigest(digest)) return held;
  const pulled = await pull({ ...context, signal: undefined }, withDigest(reference, digest), { platform });
  return pulled?.id === id ? pulled : undefined;
}

async function pull(
  { outside: { engine, registry }, settings, signal }: Pick<FetchContext, 'outside' | 'settings' | 'signal'>,
  reference: ImageReference,
  { platform, onProgress }: Pick<PullRequest, 'onProgress'> & { readonly platform: Platform | undefined },
): Promise<Image | undefined> {
  const exact = formatReference(reference);
  const credentials = await registry.credentialsFor(reference, signal);
  const request = { reference: exact, idleTimeoutMs: settings.pullTimeoutMs };
  await engine.pullImage({ ...request, ...defined({ platform, credentials, onProgress }) }, signal);
  return engine.inspectImage(exact, signal);
}

/** A container of another architecture than the engine's keeps its own. An image may have several in the engine. */
export function foreignPlatform(
  container: Pick<Container, 'platform'>,
  oldImage: Image | undefined,
  { platform }: EngineInfo,
): Platform | undefined {
  const own = container.platform ?? oldImage;
  if (own === undefined || sameArchitecture(own, platform)) return undefined;
  const { os, architecture, variant } = own;
  return { os, architecture, variant };
}

/** An image that was pulled before the turn of its container, or why it could not be. */
export type ImageAhead =
  | {
      readonly kind: 'fetched';
      readonly oldImage: Image | undefined;
      readonly image: Image | undefined;
      /** Monotonic. */
      readonly atMs: number;
      readonly tookMs: number;
    }
  | { readonly kind: 'failed'; readonly error: ServiceError };

/** By container id. */
export type ImagesAhead = ReadonlyMap<string, ImageAhead>;

/** The image that was pulled ahead. After a while it is looked for again, because a prune may have removed it. */
export async function stillHeld({ engine, clock }: Outside, ahead: ImageAhead | undefined): Promise<Image | undefined> {
  if (ahead?.kind !== 'fetched' || ahead.image === undefined) return undefined;
  const isRecent = clock.monotonicMs() - ahead.atMs < unprunedMs;
  return isRecent ? ahead.image : engine.inspectImage(ahead.image.id);
}

const unprunedMs = 30_000;
