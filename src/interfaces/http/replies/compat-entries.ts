import type { Inventory, TrackedContainer } from '../../../domain/inventory.ts';
import { type ImageReference, tryParseImageReference } from '../../../domain/image/image-reference.ts';
import { toTimestamp } from '../../json/timestamps.ts';

/**
 * Containers as What's Up Docker lists them: https://getwud.github.io/wud/#/api/container. Of the labels only those that
 * cards show, because others may have secrets.
 */
export function wudContainers(containers: readonly TrackedContainer[]): readonly object[] {
  return containers.map((container) => {
    const reference = tryParseImageReference(container.image);
    const registry = reference?.registry ?? '';
    const isUnknown = container.staleness === 'unknown';
    return {
      id: container.id,
      name: container.name,
      displayName: container.name,
      displayIcon: container.icon ?? 'mdi:docker',
      identityKey: `${watcherOf(container)}_${container.name}`,
      watcher: watcherOf(container),
      status: container.status,
      image: {
        id: container.imageId,
        registry: { name: wudRegistries.get(registry) ?? 'custom', url: `https://${cupRegistry(registry)}/v2` },
        name: reference?.repository ?? container.image,
        tag: { value: reference?.tag ?? '', semver: /^v?\d+\.\d+\.\d+/.test(reference?.tag ?? '') },
        digest: { watch: true, value: container.digest, repo: container.digest },
      },
      result: container.updateAvailable ? resultOf(container, reference) : undefined,
      updateAvailable: container.updateAvailable,
      updateKind: updateKind(container, reference),
      error: isUnknown ? { message: container.reason } : undefined,
      link: container.sourceUrl,
      labels: {
        ...(container.project !== undefined && { 'com.docker.compose.project': container.project }),
        ...(container.composeService !== undefined && { 'com.docker.compose.service': container.composeService }),
      },
    };
  });
}

/** The images of the watched containers as Cup reports them: https://cup.sergi0g.dev/docs/usage/server */
export function cupReport({ containers }: Pick<Inventory, 'containers'>, nowMs: number): object {
  const byImage = new Map<string, TrackedContainer>();
  for (const container of containers) {
    const key = `${container.engine ?? ''} ${container.image}`;
    const known = byImage.get(key);
    if (known === undefined || rankOf(container) > rankOf(known)) byImage.set(key, container);
  }
  const images = [...byImage.values()].map(cupImage);
  const count = (test: (image: (typeof images)[number]) => boolean): number => images.filter(test).length;
  const ofType = (type: string) =>
    count(({ result: { info } }) => info?.type === 'version' && info.version_update_type === type);
  const updates = count(({ result }) => result.has_update === true);
  const unknown = count(({ result }) => result.has_update === null);
  const [major, minor, patch] = [ofType('major'), ofType('minor'), ofType('patch')];
  let checkedAtMs = 0;
  for (const container of containers) checkedAtMs = Math.max(checkedAtMs, container.checkedAtMs ?? 0);
  return {
    metrics: {
      monitored_images: images.length,
      up_to_date: count(({ result }) => result.has_update === false),
      updates_available: updates,
      major_updates: major,
      minor_updates: minor,
      patch_updates: patch,
      other_updates: updates - major - minor - patch,
      unknown,
      // Read by Glance's widget; Cup does not send it.
      unknown_updates: unknown,
    },
    images,
    last_updated: toTimestamp(checkedAtMs || nowMs),
  };
}

/** A pattern of `POST /v1/update` that means this name: https://github.com/google/re2/wiki/Syntax */
export function exactName(name: string): string {
  return name.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}

/** Of several containers of an image, one with an update stands for it, before one without an answer. */
function rankOf({ updateAvailable, staleness }: TrackedContainer): number {
  return updateAvailable ? 2 : staleness === 'unknown' ? 1 : 0;
}

function cupImage(container: TrackedContainer) {
  const { image, updateAvailable, staleness, reason, sourceUrl, engine } = container;
  const reference = tryParseImageReference(image);
  const isKnown = staleness !== undefined && staleness !== 'unknown';
  return {
    reference: image,
    parts: {
      registry: cupRegistry(reference?.registry ?? ''),
      repository: reference?.repository ?? image,
      tag: reference?.tag ?? '',
    },
    url: sourceUrl ?? null,
    result: {
      has_update: updateAvailable ? true : isKnown ? false : null,
      info: updateAvailable ? cupInfo(container, reference) : null,
      error: staleness === 'unknown' ? reason : null,
    },
    time: 0,
    server: engine ?? null,
    in_use: true,
  };
}

function cupInfo(container: TrackedContainer, reference: ImageReference | undefined) {
  const { tag, isOtherTag } = newerOf(container, reference);
  if (!isOtherTag)
    return {
      type: 'digest',
      local_digests: [container.digest],
      remote_digest: container.latestDigest || null,
    } as const;
  return {
    type: 'version',
    version_update_type: container.candidateKind ?? 'other',
    new_tag: tag,
    current_version: withoutV(reference?.tag ?? ''),
    new_version: withoutV(tag),
  } as const;
}

/** Cup shows the numbers of a tag. */
function withoutV(tag: string): string {
  return tag.replace(/^v(?=\d)/, '');
}

/** Tag and digest of the newer version. */
function newerOf({ candidate, candidateKind, latestDigest }: TrackedContainer, reference: ImageReference | undefined) {
  const own = reference?.tag ?? '';
  const tag = (candidate === undefined ? undefined : tryParseImageReference(candidate)?.tag) ?? own;
  const isOtherTag = tag !== own && candidateKind !== 'digest';
  return { tag: isOtherTag ? tag : own, digest: latestDigest, isOtherTag };
}

function resultOf(container: TrackedContainer, reference: ImageReference | undefined): object {
  const { tag, digest } = newerOf(container, reference);
  return { tag, digest, created: toTimestamp(container.releasedAtMs) };
}

function updateKind(container: TrackedContainer, reference: ImageReference | undefined): object {
  if (!container.updateAvailable) return { kind: 'unknown', semverDiff: 'unknown' };
  const { tag, digest, isOtherTag } = newerOf(container, reference);
  return isOtherTag
    ? { kind: 'tag', localValue: reference?.tag, remoteValue: tag, semverDiff: container.candidateKind ?? 'unknown' }
    : { kind: 'digest', localValue: container.digest, remoteValue: digest, semverDiff: 'unknown' };
}

function watcherOf({ engine }: TrackedContainer): string {
  return engine ?? 'local';
}

/** The names of What's Up Docker for registries without a login. */
const wudRegistries: ReadonlyMap<string, string> = new Map([
  ['docker.io', 'hub.public'],
  ['ghcr.io', 'ghcr.public'],
  ['quay.io', 'quay.public'],
  ['gcr.io', 'gcr.public'],
  ['lscr.io', 'lscr.public'],
]);

function cupRegistry(registry: string): string {
  return registry === 'docker.io' ? 'registry-1.docker.io' : registry;
}
