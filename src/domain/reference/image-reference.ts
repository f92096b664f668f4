import type { Digest } from './digest.ts';
import { ServiceError } from '../errors.ts';
import { quoted } from '../text/printable.ts';
import { dockerHub, splitReference, type ReferenceParts } from './reference-grammar.ts';

/**
 * A normalised image reference: `nginx` is `{ registry: 'docker.io', repository: 'library/nginx', tag: 'latest' }`.
 * `tag` is undefined only when there is a digest.
 */
export type ImageReference = ReferenceParts;

/** Parses a reference as an engine does; throws `invalid-input` with the reason. */
export function parseImageReference(text: string): ImageReference {
  const parts = splitReference(text);
  if ('fault' in parts) {
    throw new ServiceError('invalid-input', `Cannot read image reference ${quoted(text)}: ${parts.fault}`);
  }
  return withDefaultTag(parts);
}

/** Undefined where `parseImageReference` throws. */
export function tryParseImageReference(text: string): ImageReference | undefined {
  const parts = splitReference(text);
  return 'fault' in parts ? undefined : withDefaultTag(parts);
}

/** The full form: `docker.io/library/nginx:1.27@sha256:…`. */
export function formatReference(reference: ImageReference): string {
  return repositoryName(reference) + suffix(reference);
}

/** The short form, `nginx:1.27`. It always has the tag and always parses to the same reference. */
export function familiarReference(reference: ImageReference): string {
  const full = formatReference(reference);
  if (reference.registry !== dockerHub) return full;
  const short = reference.repository.replace(/^library\/(?=[^/]+$)/, '') + suffix(reference);
  const readBack = tryParseImageReference(short);
  return readBack !== undefined && formatReference(readBack) === full ? short : full;
}

/** `docker.io/library/nginx`: registry and repository, without tag and digest. */
export function repositoryName({ registry, repository }: ImageReference): string {
  return `${registry}/${repository}`;
}

/** The reference for an engine call: `repository@digest` if there is a digest, else `repository:tag`. */
export function engineReference(reference: ImageReference): string {
  const { tag, digest } = reference;
  return repositoryName(reference) + (digest === undefined ? suffix({ tag, digest }) : `@${digest}`);
}

/** The same repository with the digest only, so that nothing else is pulled. */
export function withDigest(reference: ImageReference, digest: Digest): ImageReference {
  return { ...reference, tag: undefined, digest };
}

/** Replaces the tag in a text with the tag of `next`. The rest keeps its spelling. */
export function withTagOf(text: string, next: ImageReference): string {
  const tag = tryParseImageReference(text)?.tag ?? '';
  const isWritten = tag !== '' && text.endsWith(`:${tag}`) && next.tag !== undefined;
  return isWritten ? text.slice(0, -tag.length) + next.tag : formatReference(next);
}

/** Whether both name the same repository. The case of host names does not matter. */
export function sameRepository(a: ImageReference, b: ImageReference): boolean {
  return repositoryKey(a) === repositoryKey(b);
}

/** Whether a filter matches the reference. Without a tag it matches any tag; a malformed one matches nothing. */
export function matchesReference(filter: string, reference: ImageReference): boolean {
  const wanted = splitReference(filter);
  if ('fault' in wanted || !sameRepository(wanted, reference)) return false;
  const sameTag = wanted.tag === undefined || wanted.tag === reference.tag;
  return sameTag && (wanted.digest === undefined || wanted.digest === reference.digest);
}

/** The digests of an image in the reference's own repository, from the image's `RepoDigests`. */
export function digestOfRepository(repoDigests: readonly string[], reference: ImageReference): readonly Digest[] {
  const byRepository = digestsByRepository.get(repoDigests) ?? readByRepository(repoDigests);
  digestsByRepository.set(repoDigests, byRepository);
  return byRepository.get(repositoryKey(reference)) ?? [];
}

/** A cache: an image may be in thousands of repositories, and each container that runs it needs its digests. */
const digestsByRepository = new WeakMap<readonly string[], ReadonlyMap<string, readonly Digest[]>>();

function readByRepository(repoDigests: readonly string[]): ReadonlyMap<string, readonly Digest[]> {
  const digests = new Map<string, Digest[]>();
  for (const text of repoDigests) {
    const known = tryParseImageReference(text);
    if (known?.digest === undefined) continue;
    const others = digests.get(repositoryKey(known)) ?? [];
    if (!others.includes(known.digest)) digests.set(repositoryKey(known), [...others, known.digest]);
  }
  return digests;
}

/** `docker.io/library/nginx`, equal for two names of one repository: the host is in lower case. */
export function repositoryKey({ registry, repository }: ImageReference): string {
  return `${registry.toLowerCase()}/${repository}`;
}

function withDefaultTag(parts: ReferenceParts): ImageReference {
  return { ...parts, tag: parts.tag ?? (parts.digest === undefined ? 'latest' : undefined) };
}

function suffix({ tag, digest }: Pick<ImageReference, 'tag' | 'digest'>): string {
  return (tag === undefined ? '' : `:${tag}`) + (digest === undefined ? '' : `@${digest}`);
}
