import type { CallOutcome } from '../../../domain/outside/engine.ts';
import type { Container, Image, ImageSummary } from '../../../domain/container/container.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import {
  repositoryName,
  tryParseImageReference,
  parseDigest,
  type Digest,
} from '../../../domain/image/image-reference.ts';
import { arrayOf } from '../../../domain/text/json.ts';
import { createSlots } from '../../../domain/concurrency.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { capabilitiesOf, errorPatterns } from './capabilities.ts';
import { change } from './changes.ts';
import type { Client } from '../transport/client.ts';
import { readList } from './lists.ts';
import { completeImage, withoutLocalDigests } from './podman.ts';
import { readInspected } from './reads.ts';
import { lacksConfig, mayLackConfig, readImage, readImageSummary } from './translate.ts';
import { fields, isDefined, pathSegment, text, textMap } from '../transport/json-fields.ts';

export async function listImages(client: Client, signal?: AbortSignal): Promise<readonly ImageSummary[]> {
  const answer = await readList(client, { thing: 'image', path: '/images/json', signal });
  const { dockerWords } = capabilitiesOf(await client.version(signal));
  const entries = dockerWords ? answer : answer.map(withoutLocalDigests);
  const doubtful = dockerWords ? entries.filter(mayLackConfig).map((entry) => text(fields(entry)['Id'])) : [];
  const slots = createSlots(imagesAtOnce);
  const asked = doubtful.slice(0, maxDoubtful);
  const inspected = await Promise.all(asked.map((id) => slots.use(() => inspectImage(client, id, signal), signal)));
  const known = new Set(inspected.flatMap((image) => (image === undefined || image.isConfigUnknown ? [] : [image.id])));
  const unknown = new Set(doubtful.filter((id) => !known.has(id)));
  const images = entries.map(readImageSummary).filter(isDefined);
  if (unknown.size === 0) return images;
  return images.map((image) => (unknown.has(image.id) ? { ...image, isConfigUnknown: true } : image));
}

const imagesAtOnce = 8;

/** More than an engine has of images without a build time. The others count as unknown. */
const maxDoubtful = 1_000;

export async function inspectImage(
  client: Client,
  idOrReference: string,
  signal?: AbortSignal,
): Promise<Image | undefined> {
  const answer = await readInspected(client, {
    doing: `inspect the image ${quoted(idOrReference, 300)}`,
    path: `${imagePath(idOrReference)}/json`,
    signal,
  });
  if (answer === undefined) return undefined;
  const { dockerWords } = capabilitiesOf(await client.version(signal));
  return readImage(dockerWords ? answer : await completeImage(client, answer, signal));
}

/** https://docs.docker.com/reference/api/engine/version-history/#v148-api-changes */
export async function manifestsIn(client: Client, imageId: string, signal?: AbortSignal): Promise<readonly Digest[]> {
  const answer = await readInspected(client, {
    doing: `inspect the image ${quoted(imageId, 300)}`,
    path: `${imagePath(imageId)}/json`,
    query: { manifests: '1' },
    signal,
  });
  return arrayOf(answer?.['Manifests']).flatMap((entry) => {
    const { Available, Kind, Descriptor } = fields(entry);
    return Available === true && Kind !== 'attestation' ? (parseDigest(text(fields(Descriptor)['digest'])) ?? []) : [];
  });
}

/**
 * With containerd's image store, an engine removes a tag to move it, so two calls at once may fail without an effect of
 * their own: https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Image/operation/ImageTag
 */
export async function tagImage(client: Client, imageId: string, reference: string): Promise<CallOutcome> {
  const parsed = tryParseImageReference(reference);
  if (parsed === undefined || parsed.digest !== undefined) {
    return { kind: 'refused', status: 400, message: `${quoted(reference, 300)} is not a repository with a tag` };
  }
  const query = { repo: repositoryName(parsed), tag: parsed.tag };
  for (let tries = 1; ; tries += 1) {
    const outcome = await change(client, { path: `${imagePath(imageId)}/tag`, query });
    const hasLostRace = outcome.kind === 'refused' && errorPatterns.tagMoved.test(outcome.message);
    if (!hasLostRace || tries === maxTries) return outcome;
    const tagged = await inspectImage(client, reference).catch(() => undefined);
    if (tagged?.id === imageId) return { kind: 'done' };
  }
}

/** Of several calls at once, one succeeds each time. */
const maxTries = 10;

export async function removeImage(client: Client, idOrReference: string): Promise<CallOutcome> {
  const outcome = await change(client, {
    method: 'DELETE',
    path: imagePath(idOrReference),
    query: { force: '0' },
    absentIsNoop: true,
  });
  const severalTags = outcome.kind === 'refused' && errorPatterns.severalTags.test(outcome.message);
  return severalTags ? { ...outcome, status: 409 } : outcome;
}

/** The slashes of a reference stay unescaped: a proxy with a list of allowed paths matches them. */
function imagePath(idOrReference: string): string {
  return `/images/${idOrReference.split('/').map(pathSegment).join('/')}`;
}

type Labels = NonNullable<Container['imageLabels']>;

type ImageLabels = {
  readonly of: (imageId: string, signal?: AbortSignal) => Promise<Labels | undefined>;
  /** Remembers the labels of an image that was inspected for another reason. */
  readonly note: (image: Pick<Image, 'id' | 'config' | 'isConfigUnknown'>) => void;
};

/**
 * Labels of an image by its id. Undefined when the engine no longer has the image, or does not know or show them. An id names fixed
 * content, so a cached result stays valid.
 */
export function createImageLabels(client: Client): ImageLabels {
  const known = new Map<string, Labels>();

  function remember(imageId: string, labels: Labels): void {
    if (known.size >= maxRemembered) known.clear();
    known.set(imageId, labels);
  }

  return {
    async of(imageId, signal) {
      const remembered = known.get(imageId);
      if (remembered !== undefined) return remembered;
      const labels = await readLabels(client, imageId, signal);
      if (labels !== undefined) remember(imageId, labels);
      return labels;
    },
    note: ({ id, config, isConfigUnknown }) => {
      if (!isConfigUnknown) remember(id, textMap(config.Labels));
    },
  };
}

/** More images than an engine's containers use. Above it, the cache is cleared. */
const maxRemembered = 500;

async function readLabels(client: Client, imageId: string, signal?: AbortSignal): Promise<Labels | undefined> {
  if (imageId === '') return undefined;
  try {
    const doing = `inspect the image ${quoted(imageId)}`;
    const image = await readInspected(client, { doing, path: `${imagePath(imageId)}/json`, signal });
    return image === undefined || lacksConfig(image) ? undefined : textMap(fields(image['Config'])['Labels']);
  } catch (error) {
    // An engine that cannot show this image may still answer about the container.
    if (error instanceof ServiceError && error.code === 'engine-refused') return undefined;
    throw error;
  }
}
