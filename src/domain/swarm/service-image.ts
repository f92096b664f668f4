import type { Labels } from '../container/label-names.ts';
import type { Digest } from '../reference/digest.ts';
import { type ImageReference, tryParseImageReference } from '../reference/image-reference.ts';
import { shortDigest } from '../reference/digest.ts';
import { quoted } from '../text/printable.ts';

/** The image of a service's spec, taken apart. */
export type ServiceImage =
  | {
      readonly kind: 'tagged';
      /** Verbatim, without the digest and with a tag: an update writes it with another digest. */
      readonly text: string;
      /** Without a digest. */
      readonly reference: ImageReference;
      /** Undefined: every node runs what the tag was when it pulled. */
      readonly digest: Digest | undefined;
    }
  | { readonly kind: 'pinned'; readonly text: string; readonly reason: string; readonly digest: Digest }
  | { readonly kind: 'unreadable'; readonly text: string; readonly reason: string };

/** `docker stack deploy` notes in it what the compose file says: https://github.com/docker/cli/blob/master/cli/compose/convert/service.go */
export const stackImageLabel = 'com.docker.stack.image';

/**
 * Docker's client pins `app:1` to a digest by itself, and then it looks like an image that a person has pinned: only
 * the text of the compose file, where there is one, tells them apart.
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

/** A tag is the default one only without a digest. */
const exampleDigest = `sha256:${'0'.repeat(64)}`;

/** The digest of an image's text; undefined without one. */
export function digestIn(image: string): Digest | undefined {
  return tryParseImageReference(image)?.digest;
}
