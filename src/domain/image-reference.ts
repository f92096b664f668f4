import { isDigest, parseDigest, type Digest } from './digest.ts';
import { ServiceError } from './errors.ts';
import { quoted } from './printable.ts';

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

/**
 * Reads a reference as an engine does (https://pkg.go.dev/github.com/distribution/reference);
 * throws `invalid-input` that says what is wrong with it. Image ids are not references.
 */
export function parseImageReference(text: string): ImageReference {
  const parts = split(text);
  if ('fault' in parts)
    throw new ServiceError('invalid-input', `Cannot read image reference ${quoted(text)}: ${parts.fault}`);
  return { ...parts, tag: parts.tag ?? (parts.digest === undefined ? 'latest' : undefined) };
}

/** Undefined where `parseImageReference` throws. */
export function tryParseImageReference(text: string): ImageReference | undefined {
  const parts = split(text);
  if ('fault' in parts) return undefined;
  return { ...parts, tag: parts.tag ?? (parts.digest === undefined ? 'latest' : undefined) };
}

/** The one full spelling: `docker.io/library/nginx:1.27@sha256:…`. */
export function formatReference(reference: ImageReference): string {
  return repositoryName(reference) + suffix(reference);
}

/** As people write it: `nginx:1.27`. The tag is always shown, and it always reads back as the same reference. */
export function familiarReference(reference: ImageReference): string {
  const full = formatReference(reference);
  if (reference.registry !== dockerHub) return full;
  const { repository } = reference;
  const name = /^library\/[^/]+$/.test(repository) ? repository.slice('library/'.length) : repository;
  const short = name + suffix(reference);
  const readBack = tryParseImageReference(short);
  return readBack !== undefined && formatReference(readBack) === full ? short : full;
}

/** `docker.io/library/nginx`: registry and repository, without tag and digest. */
export function repositoryName({ registry, repository }: ImageReference): string {
  return `${registry}/${repository}`;
}

/** What an engine is asked for: `repository@digest` where there is a digest, else `repository:tag`. */
export function engineReference(reference: ImageReference): string {
  const { tag, digest } = reference;
  return repositoryName(reference) + suffix({ tag: digest === undefined ? tag : undefined, digest });
}

/** The same repository, by digest: what to pull so that nothing else can come. */
export function withDigest(reference: ImageReference, digest: Digest): ImageReference {
  return { ...reference, tag: undefined, digest };
}

/** Whether both name the same repository; host names do not mind their case. */
export function sameRepository(a: ImageReference, b: ImageReference): boolean {
  return a.repository === b.repository && a.registry.toLowerCase() === b.registry.toLowerCase();
}

/** Whether a person's filter means the reference: without a tag it means any tag; a malformed filter means none. */
export function matchesReference(filter: string, reference: ImageReference): boolean {
  const wanted = split(filter);
  if ('fault' in wanted) return false;
  return (
    sameRepository({ ...wanted, tag: undefined }, reference) &&
    (wanted.tag === undefined || wanted.tag === reference.tag) &&
    (wanted.digest === undefined || wanted.digest === reference.digest)
  );
}

/** The digests by which the reference's own repository knows an image, from the image's `RepoDigests`. */
export function digestOfRepository(repoDigests: readonly string[], reference: ImageReference): Digest[] {
  const digests = new Set<Digest>();
  for (const text of repoDigests) {
    const known = tryParseImageReference(text);
    if (known?.digest !== undefined && sameRepository(known, reference)) digests.add(known.digest);
  }
  return [...digests];
}

type Parts = {
  readonly registry: string;
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: Digest | undefined;
};
type Fault = { readonly fault: string };

const dockerHub = 'docker.io';

/** Names under which Docker Hub is known: the second is the index of old, the third where its API answers. */
const dockerHubNames: ReadonlySet<string> = new Set([dockerHub, 'index.docker.io', 'registry-1.docker.io']);

/** Longer than any reference: host and port 261, repository 255, tag 128, digest 135, and what separates them. */
const longestReference = 1024;

const longestRepository = 255;

const hostLabel = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const host = String.raw`(?:${hostLabel}(?:\.${hostLabel})*|\[[0-9a-fA-F:]+\])`;
const registryGrammar = new RegExp(`^${host}(?::[0-9]+)?$`);
/** Components of lower case letters and digits, joined by one dot, one or two underscores, or dashes. */
const component = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const repositoryGrammar = new RegExp(`^${component}(?:/${component})*$`);
const tagGrammar = /^\w[\w.-]{0,127}$/;

function split(text: string): Parts | Fault {
  const fault = faultOfWhole(text);
  if (fault !== undefined) return { fault };
  const [beforeDigest, digestText] = cut(text, text.indexOf('@'));
  const digest = digestText === undefined ? undefined : parseDigest(digestText);
  if (digestText !== undefined && digest === undefined)
    return { fault: 'the digest must be "sha256:" and 64 hex digits, or "sha512:" and 128' };
  const { registry, rest } = splitRegistry(beforeDigest);
  if (!registryGrammar.test(registry)) return { fault: `${quoted(registry)} is not a registry host` };
  const [path, tag] = cut(rest, rest.indexOf(':'));
  const repository = registry === dockerHub && path !== '' && !path.includes('/') ? `library/${path}` : path;
  const wrong = faultOfRepository(repository) ?? faultOfTag(tag);
  return wrong === undefined ? { registry, repository, tag, digest } : { fault: wrong };
}

function faultOfWhole(text: string): string | undefined {
  if (text === '') return 'it is empty';
  if (text.length > longestReference) return `it has more than ${longestReference} characters`;
  if (/\s/.test(text)) return 'it contains a space';
  if (/^[a-z]+:\/\//i.test(text)) return 'a reference begins with the registry or the name, not with a URL scheme';
  if (isDigest(text) || /^[0-9a-f]{64}$/.test(text)) return 'it is the id of an image, not a name';
  return undefined;
}

function cut(text: string, at: number): readonly [string, string | undefined] {
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

/** The first component is a registry when it cannot be anything else: `localhost`, or with a dot, a port or capitals. */
function splitRegistry(text: string): { readonly registry: string; readonly rest: string } {
  const [first, rest] = cut(text, text.indexOf('/'));
  const isRegistry = first === 'localhost' || /[.:A-Z]/.test(first);
  if (rest === undefined || !isRegistry) return { registry: dockerHub, rest: text };
  return { registry: dockerHubNames.has(first) ? dockerHub : first, rest };
}

function faultOfRepository(repository: string): string | undefined {
  if (repository === '') return 'the repository is missing';
  if (repository.length > longestRepository) return `the repository has more than ${longestRepository} characters`;
  if (repositoryGrammar.test(repository)) return undefined;
  if (repositoryGrammar.test(repository.toLowerCase()))
    return `the repository must be lower case: ${quoted(repository.toLowerCase())}`;
  return `${quoted(repository)} is not a repository: components of a-z and 0-9, joined by ".", "_", "__" or "-", separated by "/"`;
}

function faultOfTag(tag: string | undefined): string | undefined {
  if (tag === undefined || tagGrammar.test(tag)) return undefined;
  return 'the tag must be 1 to 128 letters, digits, "_", "." or "-", and begin with none of the last two';
}

function suffix({ tag, digest }: Pick<ImageReference, 'tag' | 'digest'>): string {
  return (tag === undefined ? '' : `:${tag}`) + (digest === undefined ? '' : `@${digest}`);
}
