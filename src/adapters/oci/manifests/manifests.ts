import { parseDigest, type Digest } from '../../../domain/image/image-reference.ts';
import type { Client } from '../client/client.ts';
import { digestOf, requireFound, verify } from '../transport/answer.ts';
import type { Endpoint } from '../client/endpoints.ts';
import type { WireAnswer } from '../../http/exchange.ts';
import { acceptedTypes, mediaTypeOf, outdated, outdatedTypes, parseManifest, type Manifest } from './manifest.ts';
import { noRetries } from '../limits/throttle.ts';

export type RepositoryEndpoint = { readonly endpoint: Endpoint; readonly repository: string };

/** Digest of a tag, and the ETag for the next request. */
export type TagState = { readonly digest: Digest; readonly etag: string | undefined };

/**
 * Digest of a tag by a HEAD request. Without a digest in the answer, a GET follows, and its body is hashed. Registries
 * without HEAD answer with any status, even 401 or 404.
 */
export async function resolveTag(
  client: Client,
  { endpoint, repository }: RepositoryEndpoint,
  tag: string,
  known: TagState | undefined,
  signal?: AbortSignal,
): Promise<TagState> {
  const ask = { repository, path: `manifests/${tag}`, maxBytes: maxManifestBytes };
  const headers = known?.etag === undefined ? accept : { ...accept, 'if-none-match': known.etag };
  const head = await client(endpoint, { ...ask, method: 'HEAD', headers, isTentative: true }, signal);
  if (head.status === 304 && known !== undefined) return known;
  if (head.status === 200 && outdatedTypes.has(mediaTypeOf(head.headers['content-type']))) throw outdated();
  const reported = head.status === 200 ? digestHeader(head) : undefined;
  if (reported !== undefined) return { digest: reported, etag: etagOf(head) };
  // After a 500 the HEAD request has used the retries.
  const patience = head.status >= 500 ? { patience: noRetries } : {};
  const answer = await client(endpoint, { ...ask, ...patience, method: 'GET', headers: accept }, signal);
  requireFound(answer, 'it has no such tag');
  const digest = digestHeader(answer) ?? digestOf(answer.body);
  readManifest(answer, digest);
  return { digest, etag: etagOf(answer) };
}

/** Fetches a manifest and verifies its digest. */
export async function fetchManifest(
  client: Client,
  { endpoint, repository }: RepositoryEndpoint,
  digest: Digest,
  signal?: AbortSignal,
): Promise<Manifest> {
  const ask = {
    method: 'GET',
    repository,
    path: `manifests/${digest}`,
    headers: accept,
    maxBytes: maxManifestBytes,
  } as const;
  const answer = await client(endpoint, ask, signal);
  requireFound(answer, `it has no manifest ${digest}`);
  return readManifest(answer, digest);
}

/** Fetches a blob and verifies its digest. Used for configs, which are small, not for layers. */
export async function fetchBlob(
  client: Client,
  { endpoint, repository }: RepositoryEndpoint,
  digest: Digest,
  signal?: AbortSignal,
): Promise<Buffer> {
  const ask = { method: 'GET', repository, path: `blobs/${digest}`, headers: {}, maxBytes: maxConfigBytes } as const;
  const answer = await client(endpoint, ask, signal);
  requireFound(answer, `it has no blob ${digest}`);
  verify(answer, digest);
  return answer.body;
}

/** The minimum of a registry's limit: https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pushing-manifests */
const maxManifestBytes = 4 * 1024 * 1024;

/** The largest known configs have some hundred kilobytes of history and environment. */
const maxConfigBytes = 8 * 1024 * 1024;

const accept: Readonly<Record<string, string>> = { accept: acceptedTypes };

function digestHeader({ headers }: WireAnswer): Digest | undefined {
  const value = headers['docker-content-digest'];
  return typeof value === 'string' ? parseDigest(value) : undefined;
}

/** Stored for every tag, so a long one is dropped. */
export function etagOf({ headers }: WireAnswer): string | undefined {
  return headers.etag !== undefined && headers.etag.length <= 256 ? headers.etag : undefined;
}

function readManifest(answer: WireAnswer, digest: Digest): Manifest {
  verify(answer, digest);
  return parseManifest(answer.body, answer.headers['content-type']);
}
