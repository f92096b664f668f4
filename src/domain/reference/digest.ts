/**
 * A content digest, `sha256:` and 64 hex digits (or sha512 and 128):
 * https://github.com/opencontainers/image-spec/blob/main/descriptor.md#digests
 */
export type Digest = `${'sha256' | 'sha512'}:${string}`;

/** Undefined for other algorithms, for upper case digits, and for a wrong number of digits. */
export function parseDigest(text: string): Digest | undefined {
  return isDigest(text) ? text : undefined;
}

/** Whether the text is exactly a digest, without spaces around it. */
export function isDigest(text: string): text is Digest {
  return grammar.test(text);
}

/** The first 12 hex digits, the usual short form of digests and image ids. */
export function shortDigest(digest: string): string {
  const start = digest.indexOf(':') + 1;
  return digest.slice(start, start + 12);
}

const grammar = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/;
