/**
 * A content digest, `sha256:` and 64 hex digits (or sha512 and 128):
 * https://github.com/opencontainers/image-spec/blob/main/descriptor.md#digests
 */
export type Digest = `${'sha256' | 'sha512'}:${string}`;
