import { defined } from '../../../domain/text/defined.ts';
import type { EngineInfo } from '../../../domain/outside/engine-reader.ts';
import type { Container, Image } from '../../../domain/container/container.ts';
import { isDigest } from '../../../domain/reference/digest.ts';
import {
  formatReference,
  type ImageReference,
  parseImageReference,
  tryParseImageReference,
  withDigest,
} from '../../../domain/reference/image-reference.ts';
import type { PullRequest } from '../../../domain/outside/engine-writer.ts';
import type { PullProgress } from '../../../domain/run/event.ts';
import { type Platform, sameArchitecture } from '../../../domain/reference/platform.ts';
import type { PlannedMember } from '../../../domain/plan/planned-transaction.ts';
import type { Outside } from '../../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../../domain/settings/service-settings.ts';

export type FetchContext = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly runId: string;
  readonly info: EngineInfo;
  readonly signal: AbortSignal | undefined;
};

/** The image of the planned digest: from the engine if it has it, else pulled. Undefined if it is gone after the pull. */
export async function fetchImage(
  { outside, settings, runId, info, signal }: FetchContext,
  planned: PlannedMember,
  platform: Platform | undefined,
): Promise<Image | undefined> {
  const { engine, publish } = outside;
  const held = planned.imageId === undefined ? undefined : await engine.inspectImage(planned.imageId, signal);
  if (held !== undefined || planned.mustBeHeld === true) return held;
  if (planned.digest === undefined) return engine.inspectImage(planned.reference, signal);
  const reference = withDigest(parseImageReference(planned.reference), planned.digest);
  const exact = formatReference(reference);
  const present = await engine.inspectImage(exact, signal);
  // An index has one digest for all platforms.
  if (present !== undefined && sameArchitecture(present, platform ?? info.platform)) return present;
  const onProgress = (progress: PullProgress) =>
    publish({ kind: 'pull_progress', runId, container: planned.container.name, progress });
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
