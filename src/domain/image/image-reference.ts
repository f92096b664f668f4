import { ServiceError } from '../text/errors.ts';
import { quoted } from '../text/printable.ts';

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

/** Parts of a normalised reference; a part that was not written is undefined. */
type ReferenceParts = {
  /** Host with port; Docker Hub is always `docker.io`. */
  readonly registry: string;
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: Digest | undefined;
};

/** Why a text is not a reference; completes "Cannot read …: ". */
type ReferenceFault = { readonly fault: string };

const dockerHub = 'docker.io';

/**
 * The grammar of https://pkg.go.dev/github.com/distribution/reference, as engines use it for names from users. Image
 * ids are not references, although the grammar could read them so.
 */
export function splitReference(text: string): ReferenceParts | ReferenceFault {
  const wrong = faultOfWhole(text);
  if (wrong !== undefined) return { fault: wrong };
  const [name, digestText] = cut(text, '@');
  const { registry, rest } = splitRegistry(name);
  const [path, tag] = cut(rest, ':');
  const fault = faultOfRegistry(registry) ?? faultOfPath(path) ?? faultOfTag(tag) ?? faultOfDigest(digestText);
  if (fault !== undefined) return { fault };
  const repository = registry === dockerHub && !path.includes('/') ? `library/${path}` : path;
  if (repository.length > maxRepositoryLength)
    return { fault: `the name has more than ${maxRepositoryLength} characters` };
  return { registry, repository, tag, digest: digestText === undefined ? undefined : parseDigest(digestText) };
}

/** Whether the text can be a tag: https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pulling-manifests */
export function isTag(text: string): boolean {
  return tagGrammar.test(text);
}

/** Longer than any reference: a host and port have 261 characters, a name 255, a tag 128, a digest 135. */
const maxReferenceLength = 1024;

const maxRepositoryLength = 255;

/** Other hosts of Docker Hub: the former index, and the host of the API. */
const dockerHubAliases: ReadonlySet<string> = new Set(['index.docker.io', 'registry-1.docker.io']);

const hostLabel = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const ipv6 = String.raw`\[[0-9a-fA-F:]+\]`;
const registryGrammar = new RegExp(String.raw`^(?:${hostLabel}(?:\.${hostLabel})*|${ipv6})(?::[0-9]+)?$`);

const component = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const pathGrammar = new RegExp(`^${component}(?:/${component})*$`);

const tagGrammar = /^\w[\w.-]{0,127}$/;

/** Checks the length first, so that the other rules read no longer text. */
function faultOfWhole(text: string): string | undefined {
  if (text.length > maxReferenceLength) return `it has more than ${maxReferenceLength} characters`;
  if (text === '') return 'it is empty';
  if (/\s/.test(text)) return 'it contains a space';
  if (/^[a-z]+:\/\//i.test(text)) return 'it begins with a URL scheme; the registry or the name comes first';
  if (isDigest(text) || /^[0-9a-f]{64}$/.test(text)) return 'it is the id of an image, not a name';
  return undefined;
}

function cut(text: string, separator: string): readonly [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

/**
 * The first component is a registry if it is `localhost`, or has a dot, a port or capitals, which a path cannot have.
 */
function splitRegistry(name: string): { readonly registry: string; readonly rest: string } {
  const [first, rest] = cut(name, '/');
  if (rest === undefined || (first !== 'localhost' && !/[.:A-Z]/.test(first)))
    return { registry: dockerHub, rest: name };
  return { registry: dockerHubAliases.has(first) ? dockerHub : first, rest };
}

function faultOfRegistry(registry: string): string | undefined {
  return registryGrammar.test(registry) ? undefined : `${quoted(registry)} is not the host of a registry`;
}

function faultOfPath(path: string): string | undefined {
  if (path === '') return 'the name is missing';
  if (pathGrammar.test(path)) return undefined;
  const lowered = path.toLowerCase();
  if (pathGrammar.test(lowered)) return `the name must be lower case, as in ${quoted(lowered)}`;
  return `${quoted(path)} is not a name: it takes a-z, 0-9 and "/", and ".", "_", "__" or "-" between them`;
}

function faultOfTag(tag: string | undefined): string | undefined {
  if (tag === undefined || isTag(tag)) return undefined;
  return `${quoted(tag)} is not a tag: it takes 1 to 128 letters, digits, "_", "." and "-", and begins with neither of the last two`;
}

function faultOfDigest(digest: string | undefined): string | undefined {
  if (digest === undefined || isDigest(digest)) return undefined;
  return `${quoted(digest)} is not a digest: it takes "sha256:" and 64 hex digits, or "sha512:" and 128`;
}

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
