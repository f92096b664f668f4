import type { Labels } from '../image/image-labels.ts';
import {
  shortDigest,
  sameRepository,
  tryParseImageReference,
  type Digest,
  type ImageReference,
} from '../image/image-reference.ts';
import { quoted } from '../text/printable.ts';
import type { SwarmService } from './swarm-service.ts';

/** The parsed image of a service's spec. */
export type ServiceImage =
  | {
      readonly kind: 'tagged';
      /** Verbatim, without the digest and with a tag. An update writes it with another digest. */
      readonly text: string;
      /** Without a digest. */
      readonly reference: ImageReference;
      /** Undefined: every node runs the version that the tag had when it pulled. */
      readonly digest: Digest | undefined;
    }
  | { readonly kind: 'pinned'; readonly text: string; readonly reason: string; readonly digest: Digest }
  | { readonly kind: 'unreadable'; readonly text: string; readonly reason: string };

/**
 * The image in the compose file, which `docker stack deploy` stores in this label:
 * https://github.com/docker/cli/blob/master/cli/compose/convert/service.go
 */
export const stackImageLabel = 'com.docker.stack.image';

/**
 * Docker's client adds a digest to `app:1` by itself, which then looks pinned by a person. Only the image in the
 * compose file, if there is one, distinguishes the two.
 */
export function readServiceImage(image: string, labels: Labels): ServiceImage {
  const parsed = tryParseImageReference(image);
  if (parsed === undefined)
    return { kind: 'unreadable', text: image, reason: `Runs ${quoted(image)}, which is not an image reference` };
  const [name = image] = image.split('@');
  const { tag, digest } = parsed;
  const written = tryParseImageReference(labels[stackImageLabel] ?? '');
  if (digest !== undefined && (tag === undefined || written?.digest !== undefined))
    return { kind: 'pinned', text: name, digest, reason: `Pinned to the digest ${shortDigest(digest)}` };
  const isTagWritten = tryParseImageReference(`${name}@${exampleDigest}`)?.tag !== undefined;
  const text = isTagWritten ? name : `${name}:${tag ?? 'latest'}`;
  return { kind: 'tagged', text, digest, reference: { ...parsed, digest: undefined } };
}

/** A reference with a digest gets no default tag, so its tag was written. */
const exampleDigest = `sha256:${'0'.repeat(64)}`;

/** The digest of an image's text; undefined without one. */
export function digestIn(image: string): Digest | undefined {
  return tryParseImageReference(image)?.digest;
}

/** Labels of the service, written by the call that changes it. */
export const updateIdLabel = 'upkeep.tx.id';
/** The image that the update replaced, verbatim. */
export const updateFromLabel = 'upkeep.tx.from';
/** The seal of an instance with a key: see `Seal` in `outside.ts`. */
export const updateSealLabel = 'upkeep.tx.seal';

/** The labels of an update. */
export function updateLabels(
  { id, serviceId, from }: { readonly id: string; readonly serviceId: string; readonly from: string },
  seal: { readonly sign: (text: string) => string } | undefined,
): Labels {
  const labels = { [updateIdLabel]: id, [updateFromLabel]: from };
  return seal === undefined ? labels : { ...labels, [updateSealLabel]: seal.sign(sealedText(id, serviceId, from)) };
}

function sealedText(...parts: readonly string[]): string {
  return JSON.stringify(['service', ...parts]);
}

/**
 * The image that a rollback of a service writes into its spec, verbatim: the image before its last update by Upkeep,
 * else the image of `PreviousSpec`. Undefined if neither differs from the present one. An image without a digest does
 * not count, because the nodes would pull the present version of its tag.
 */
export function rollbackImageOf(service: SwarmService, seal: SealReader): string | undefined {
  return earlierImages(service, seal).find((image) => digestIn(image) !== undefined);
}

/** The earlier image of a service that cannot be rolled back, because it has no digest. */
export function unpinnedEarlierImage(service: SwarmService, seal: SealReader): string | undefined {
  return rollbackImageOf(service, seal) === undefined ? earlierImages(service, seal)[0] : undefined;
}

/** See `Seal` in `outside.ts`. */
type SealReader = { readonly verify: (text: string, seal: string) => boolean } | undefined;

function earlierImages(service: SwarmService, seal: SealReader): readonly string[] {
  const { image, labels, previous } = service;
  const claimed = whyFromIgnored(service, seal) === undefined ? labels[updateFromLabel] : undefined;
  return [claimed, previous?.image].filter((each): each is string => each !== undefined && each !== image);
}

/**
 * Why the label with the image before the last update does not count. Undefined: it counts, or there is none. Anybody
 * who may create services can write it, so it names an image of the service's own repository only, and with a key it
 * has its seal.
 */
export function whyFromIgnored({ id, image, labels }: SwarmService, seal: SealReader): string | undefined {
  const from = labels[updateFromLabel];
  if (from === undefined) return undefined;
  const [now, before] = [tryParseImageReference(image), tryParseImageReference(from)];
  if (now === undefined || before === undefined || !sameRepository(now, before))
    return `its label ${updateFromLabel} names an image of another repository, ${quoted(from, 200)}`;
  const text = sealedText(labels[updateIdLabel] ?? '', id, from);
  if (seal === undefined || seal.verify(text, labels[updateSealLabel] ?? '')) return undefined;
  return `its label ${updateFromLabel} does not have the seal of this instance's key`;
}
