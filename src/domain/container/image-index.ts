import type { Labels, VersionFacts } from '../image/image-labels.ts';
import type { ContainerSummary, ImageSummary } from './container.ts';
import {
  parseDigest,
  formatReference,
  tryParseImageReference,
  type Digest,
  type ImageReference,
} from '../image/image-reference.ts';

/** The engine's images by id and tag. */
export type ImageIndex = {
  /** An id is the digest of a config, a manifest or an index, as the engine's image store chooses. */
  readonly byId: (id: string) => ImageSummary | undefined;
  /** Image that the reference's tag points at in the engine now. */
  readonly byTag: (reference: ImageReference) => ImageSummary | undefined;
};

/** The labels of a listed container's image. Undefined when the engine no longer has it, or does not know them. */
export type ImageLabelsOf = (container: Pick<ContainerSummary, 'imageId'>) => Labels | undefined;

export function imageLabelsIn(images: Pick<ImageIndex, 'byId'>): ImageLabelsOf {
  return ({ imageId }) => labelsOfImage(images.byId(imageId));
}

export function labelsOfImage(image: ImageSummary | undefined): Labels | undefined {
  return image?.isConfigUnknown ? undefined : image && (image.labels ?? noImageLabels);
}

/** The facts about an image that name its version. An image of no registry counts as built here. */
export function versionFactsOf(
  image: ImageSummary | undefined,
  { image: reference, digest }: { readonly image: string; readonly digest: string },
): VersionFacts {
  return { labels: labelsOfImage(image), image: reference, digest, isBuiltHere: image?.digests.length === 0 };
}

/** Also for a service: this engine may not have its image, so all labels count as its own. */
export const noImageLabels: Labels = {};

export function indexImages(images: readonly ImageSummary[]): ImageIndex {
  const byId = new Map<string, ImageSummary>();
  const byTag = new Map<string, ImageSummary>();
  for (const image of images) {
    byId.set(image.id, image);
    for (const tag of image.tags) {
      const reference = tryParseImageReference(tag);
      if (reference !== undefined) byTag.set(formatReference(reference), image);
    }
  }
  return {
    byId: (id) => byId.get(id),
    byTag: (reference) => byTag.get(formatReference({ ...reference, digest: undefined })),
  };
}

/** The ids of the containers' images that a list of images omits: it has no untagged parents of other images. */
export function unlistedImageIds(
  containers: readonly Pick<ContainerSummary, 'imageId'>[],
  images: readonly Pick<ImageSummary, 'id'>[],
): readonly string[] {
  const listed = new Set(images.map(({ id }) => id));
  const wanted = new Set(containers.map(({ imageId }) => imageId));
  return [...wanted].filter((id) => id !== '' && !listed.has(id));
}

/** The digests that an image was pulled with, of any repository: equal digests are equal content. */
export const digestsOf: (image: Pick<ImageSummary, 'digests'>) => readonly Digest[] = oncePerList((digests) => [
  ...new Set(digests.flatMap((text) => parseDigest(text.slice(text.indexOf('@') + 1)) ?? [])),
]);

/** Caches: an image may be in thousands of repositories, and each container that runs it needs its digests. */
function oncePerList<Result extends object>(read: (digests: readonly string[]) => Result) {
  const known = new WeakMap<readonly string[], Result>();
  return ({ digests }: Pick<ImageSummary, 'digests'>): Result => {
    const result = known.get(digests) ?? read(digests);
    known.set(digests, result);
    return result;
  };
}
