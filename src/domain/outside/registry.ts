import type { Image } from '../container/container.ts';
import type { Labels } from '../image/labels.ts';
import type { Digest, ImageReference } from '../image/image-reference.ts';
import type { Platform } from '../image/platform.ts';
import type { FoundSignatures } from '../image/signature.ts';

/**
 * The registries that images come from. Methods throw a `ServiceError`: `registry-denied`,
 * `registry-not-found`, `registry-rate-limited` (with `retryAfterMs`), `registry-unreachable`,
 * `registry-invalid`, `timeout`.
 */
export type Registry = {
  /**
   * Announces the references of a check, so that access to several repositories can be requested at once. Absent where
   * it has no effect.
   */
  readonly prepare?: (references: readonly ImageReference[], signal?: AbortSignal) => Promise<void>;
  /** The digest behind a tag now, without a pull. Concurrent callers share one request. */
  readonly resolve: (reference: ImageReference, signal?: AbortSignal) => Promise<Digest>;
  /**
   * The tags of a repository, in no order; one may repeat. The reference's own tag is ignored. Concurrent callers share one listing.
   * Throws `registry-invalid` for a registry that lists no tags.
   */
  readonly listTags: (reference: ImageReference, signal?: AbortSignal) => Promise<TagList>;
  /** The image of that digest on a platform; throws `registry-not-found` when the index has no image for it. */
  readonly describe: (request: DescribeRequest, signal?: AbortSignal) => Promise<RemoteImage>;
  /**
   * All that containers inherit from an image that `describe` has found. Throws `registry-invalid` for a config that
   * engines may read differently.
   */
  readonly configOf: (
    reference: ImageReference,
    image: Pick<RemoteImage, 'manifestDigest' | 'configDigest'>,
    signal?: AbortSignal,
  ) => Promise<RemoteConfig>;
  /**
   * The platforms that a digest has images for, each once, from an index or from a single image. Empty if they are not
   * declared.
   */
  readonly platformsOf: (
    reference: ImageReference,
    digest: Digest,
    signal?: AbortSignal,
  ) => Promise<readonly Platform[]>;
  /** The first signatures stored beside an image, not verified. Empty without any. */
  readonly signaturesOf: (reference: ImageReference, digest: Digest, signal?: AbortSignal) => Promise<FoundSignatures>;
  /** The login that the engine needs for a pull; undefined without one. */
  readonly credentialsFor: (
    reference: ImageReference,
    signal?: AbortSignal,
  ) => Promise<RegistryCredentials | undefined>;
  /**
   * The time by the clock of the registry that has last answered about the repository, in milliseconds since the epoch.
   * Undefined before its first answer, and if it tells none.
   */
  readonly timeAt: (reference: ImageReference) => number | undefined;
  readonly close: () => Promise<void>;
};

/**
 * One tag per line, because 50,000 strings take many times the memory; empty without any. At most `maxTags`, and
 * `maxTagListBytes`. `isCut`: the registry has more.
 */
export type TagList = { readonly tags: string; readonly isCut: boolean };

/** Docker Hub's largest repositories have some ten thousand. */
export const maxTags = 50_000;

/** Room for 50,000 tags of 40 characters; usual ones have 20. A character of a tag is a byte. */
export const maxTagListBytes = 2 * 1024 * 1024;

export type DescribeRequest = {
  readonly reference: ImageReference;
  readonly digest: Digest;
  readonly platform: Platform;
};

export type RemoteImage = {
  /** The requested digest: of the index, if there is one. */
  readonly digest: Digest;
  /** The digest of the manifest for the platform. Without an index it is the same. */
  readonly manifestDigest: Digest;
  /** The digest of the image config: the image id in Docker's classic store. */
  readonly configDigest: Digest;
  /** From the image config, with empty parts if an image declares none. Undefined if the content is not an image. */
  readonly platform: Platform | undefined;
  /**
   * The build time, milliseconds since the epoch. Undefined where unknown, or before the second day of 1980. With
   * `alternatives` it is the latest of all.
   */
  readonly createdAtMs: number | undefined;
  /** Labels of its config about its version and source; absent without any. */
  readonly labels?: Labels;
  /** Annotations about its source, of the manifest and of the entries and indexes that lead to it; absent without any. */
  readonly annotations?: Labels;
  /** Compressed size of all its layers. */
  readonly layerBytes?: number;
  /**
   * Images of the index that an engine of this platform may choose instead. Absent: there is none. Labels, annotations
   * and size are given only if they are the same in all. `configDigest` undefined: its manifest was not read.
   */
  readonly alternatives?: readonly { readonly manifestDigest: Digest; readonly configDigest: Digest | undefined }[];
};

/** The facts of an image config, as an engine shows them. `createdAtMs` is 0 without a time. */
export type RemoteConfig = Pick<Image, 'os' | 'architecture' | 'variant' | 'createdAtMs' | 'config'>;

/** The image of one platform whose signature was checked. */
export type VerifiedImage = Pick<RemoteImage, 'manifestDigest' | 'configDigest'> & {
  /** Only the image has a signature, and not the index that names it. */
  readonly isIndexUnsigned: boolean;
};

/** The engine's `X-Registry-Auth`: https://docs.docker.com/reference/api/engine/#section/Authentication */
export type RegistryCredentials =
  | { readonly kind: 'password'; readonly username: string; readonly password: string; readonly serverAddress: string }
  | {
      readonly kind: 'identity-token';
      readonly username: string;
      readonly identityToken: string;
      readonly serverAddress: string;
    }
  | { readonly kind: 'registry-token'; readonly registryToken: string; readonly serverAddress: string };
