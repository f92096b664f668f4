import { isDigest, parseDigest, type Digest } from './digest.ts';
import { quoted } from '../text/printable.ts';

/** Parts of a normalised reference; a part that was not written is undefined. */
export type ReferenceParts = {
  /** Host with port; Docker Hub is always `docker.io`. */
  readonly registry: string;
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: Digest | undefined;
};

/** Why a text is not a reference; completes "Cannot read …: ". */
export type ReferenceFault = { readonly fault: string };

export const dockerHub = 'docker.io';

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
  if (repository.length > longestRepository) return { fault: `the name has more than ${longestRepository} characters` };
  return { registry, repository, tag, digest: digestText === undefined ? undefined : parseDigest(digestText) };
}

/** Whether the text can be a tag: https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pulling-manifests */
export function isTag(text: string): boolean {
  return tagGrammar.test(text);
}

/** Longer than any reference: a host and port have 261 characters, a name 255, a tag 128, a digest 135. */
const longestReference = 1024;

const longestRepository = 255;

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
  if (text.length > longestReference) return `it has more than ${longestReference} characters`;
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
