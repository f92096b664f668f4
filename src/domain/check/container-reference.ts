import type { ImageSummary } from '../container/container.ts';
import { userTags } from './known-versions.ts';
import { type ImageReference, tryParseImageReference } from '../image/image-reference.ts';
import { quoted } from '../text/printable.ts';

/** Reference that a container was created from, if it is known. */
export type ContainerReference =
  /** A successor is created from `text`, so `text` keeps its spelling. */
  | {
      readonly kind: 'known';
      readonly text: string;
      readonly reference: ImageReference;
      /** The reference comes from the label that replaces it. */
      readonly isNamedByLabel?: true;
    }
  /** A sentence without a final period. */
  | { readonly kind: 'unknown'; readonly text: string; readonly reason: string };

type ReferenceSource = {
  /** `Config.Image`: a reference, or an image id. */
  readonly text: string;
  /** Value of the label that replaces the reference. */
  readonly originalImage: string | undefined;
  readonly imageId: string;
  readonly image: ImageSummary | undefined;
};

/**
 * A container can be created from a bare image id (`docker run 0123456789ab`), which no registry knows. If its image
 * has exactly one tag, that tag counts.
 */
export function readContainerReference(source: ReferenceSource): ContainerReference {
  const { text, originalImage, imageId, image } = source;
  const original = originalImage === undefined ? undefined : known(originalImage);
  if (original !== undefined) return { ...original, isNamedByLabel: true };
  if (!isImageId(text, imageId)) {
    return (
      known(text) ?? { kind: 'unknown', text, reason: `Created from ${quoted(text)}, which is not an image reference` }
    );
  }
  const [tag, another] = image === undefined ? [] : userTags(image);
  if (tag === undefined)
    return { kind: 'unknown', text, reason: 'Created from an image id, and the image has no tag to check' };
  if (another !== undefined) {
    const reason = `Created from an image id, and the image has several tags to check: ${quoted(tag)}, ${quoted(another)}`;
    return { kind: 'unknown', text, reason };
  }
  return (
    known(tag) ?? {
      kind: 'unknown',
      text,
      reason: `Created from an image id, and its tag ${quoted(tag)} cannot be read`,
    }
  );
}

/**
 * Whether the text is the image's id or its beginning. The engine's list also shows the id for a container whose tag
 * has moved.
 */
export function isImageId(text: string, imageId: string): boolean {
  const digits = text.replace(/^sha256:/, '');
  return /^[0-9a-f]{4,64}$/.test(digits) && imageId.replace(/^sha256:/, '').startsWith(digits);
}

function known(text: string): Extract<ContainerReference, { kind: 'known' }> | undefined {
  const reference = tryParseImageReference(text);
  return reference === undefined ? undefined : { kind: 'known', text, reference };
}
