/** Media types of indexes and manifests: https://github.com/opencontainers/image-spec/blob/main/media-types.md */
export const indexTypes: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
]);

export const manifestTypes: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
]);

/** Every request accepts all four. With fewer, a registry converts the manifest, and the digest changes. */
export const acceptedTypes = [...indexTypes, ...manifestTypes].join(', ');

/** The last four come from old registries: https://github.com/distribution/distribution/issues/1621 */
export const configTypes: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.config.v1+json',
  'application/vnd.docker.container.image.v1+json',
  'application/octet-stream',
  'application/json',
  'text/html',
  '',
]);

/** Docker's first format, signed or not. Its digest is not the digest of an image in an engine. */
export const outdatedTypes: ReadonlySet<string> = new Set([
  'application/vnd.docker.distribution.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v1+prettyjws',
]);

/** A `Content-Type` without parameters. */
export function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? '').replace(/;.*$/s, '').trim().toLowerCase();
}
