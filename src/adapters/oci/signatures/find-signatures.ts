import type { Digest } from '../../../domain/reference/digest.ts';
import type { FoundSignature } from '../../../domain/signature/signature.ts';
import type { Client } from '../client/client.ts';
import type { RepositoryEndpoint } from '../manifests/manifests.ts';
import { acceptedTypes } from '../manifests/manifest.ts';
import { requireFound, verify } from '../transport/answer.ts';
import type { WireAnswer } from '../transport/exchange.ts';
import { RegistryFailure } from '../transport/failure.ts';
import { nextQuery } from '../client/next-page.ts';
import { signatureArtifact, signatureLayersIn, signatureManifestsIn } from './signature-manifest.ts';

/**
 * Signatures of an image, at most 20: from cosign's tag, and from the image's referrers
 * (https://github.com/opencontainers/distribution-spec/blob/main/spec.md#listing-referrers, or the fallback tag of
 * registries without this list). Empty for an image without signatures. Throws if the registry does not answer.
 */
export async function findSignatures(
  client: Client,
  place: RepositoryEndpoint,
  digest: Digest,
  signal?: AbortSignal,
): Promise<readonly FoundSignature[]> {
  const context: RequestContext = { client, place, signal };
  const name = digest.replace(':', '-');
  const manifests = [await manifestAt(context, `${name}.sig`), ...(await referringManifests(context, digest, name))];
  const layers = manifests.flatMap((body) => (body === undefined ? [] : signatureLayersIn(body)));
  const found: FoundSignature[] = [];
  for (const { payload, signature } of layers.slice(0, mostSignatures)) {
    const content = contentOf(await ask(context, `blobs/${payload}`, maxPayloadBytes), payload);
    if (content !== undefined) found.push({ payload: content, signature });
  }
  return found;
}

type RequestContext = {
  readonly client: Client;
  readonly place: RepositoryEndpoint;
  readonly signal: AbortSignal | undefined;
};

const mostSignatures = 20;

const mostManifests = 10;

/** Some thousand referrers. */
const mostPages = 10;

/** The minimum of a registry's limit for manifests. */
const maxManifestBytes = 4 * 1024 * 1024;

/** A payload has some hundred bytes, and the signer may add annotations. */
const maxPayloadBytes = 256 * 1024;

async function referringManifests(
  context: RequestContext,
  digest: Digest,
  fallbackTag: string,
): Promise<readonly (Buffer | undefined)[]> {
  const pages = (await referrersOf(context, digest)) ?? [await manifestAt(context, fallbackTag)];
  const manifests = pages.flatMap((index) => (index === undefined ? [] : signatureManifestsIn(index)));
  const bodies: (Buffer | undefined)[] = [];
  for (const manifest of manifests.slice(0, mostManifests)) bodies.push(await manifestAt(context, manifest, manifest));
  return bodies;
}

/** A registry may ignore the type and list all referrers, page by page. Undefined: it has no such list. */
async function referrersOf(context: RequestContext, digest: Digest): Promise<readonly Buffer[] | undefined> {
  const pages: Buffer[] = [];
  let query: string | undefined = `?artifactType=${encodeURIComponent(signatureArtifact)}`;
  while (query !== undefined && pages.length < mostPages) {
    const list = `referrers/${digest}`;
    const answer = await ask(context, `${list}${query}`, maxManifestBytes, true);
    // An answer of 500 and above does not mean an empty list. A registry without the list answers 404 or refuses.
    if (answer.status >= 500) requireFound(answer, '');
    if (answer.status !== 200) return pages.length > 0 ? pages : undefined;
    pages.push(answer.body);
    query = nextQuery(answer, context.place, list);
  }
  return pages;
}

async function manifestAt(context: RequestContext, reference: string, digest?: Digest): Promise<Buffer | undefined> {
  return contentOf(await ask(context, `manifests/${reference}`, maxManifestBytes), digest);
}

function ask(
  { client, place, signal }: RequestContext,
  path: string,
  maxBytes: number,
  isTentative = false,
): Promise<WireAnswer> {
  const { endpoint, repository } = place;
  const headers = { accept: acceptedTypes };
  return client(endpoint, { method: 'GET', repository, path, headers, maxBytes, isTentative }, signal);
}

/** Content with a wrong digest counts as missing. */
function contentOf(answer: WireAnswer, digest: Digest | undefined): Buffer | undefined {
  if (answer.status === 404) return undefined;
  requireFound(answer, '');
  try {
    if (digest !== undefined) verify(answer, digest);
    return answer.body;
  } catch (error) {
    if (error instanceof RegistryFailure) return undefined;
    throw error;
  }
}
