import type { Digest } from './digest.ts';

/**
 * A normalised image reference: `nginx` is `{ registry: 'docker.io', repository: 'library/nginx', tag: 'latest' }`.
 * `tag` is undefined only when there is a digest.
 */
export type ImageReference = {
  /** Host with port; Docker Hub is always `docker.io`. */
  readonly registry: string;
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: Digest | undefined;
};
