import type { Digest } from '../../../domain/reference/digest.ts';
import type { FoundSignature } from '../../../domain/signature/signature.ts';
import type { Client } from '../client/client.ts';
import type { Place } from '../manifests/manifests.ts';
import { acceptedTypes } from '../manifests/media-types.ts';
import { verify } from '../transport/content.ts';
import type { WireAnswer } from '../transport/exchange.ts';
import { RegistryFailure } from '../transport/failure.ts';
import { requireFound } from '../transport/found.ts';
import { signatureArtifact, signatureLayersIn, signatureManifestsIn } from './signature-manifest.ts';

/**
 * Signatures of an image, at most 20: those behind the tag that cosign gives them, and those that refer to the image
 * (https://github.com/opencontainers/distribution-spec/blob/main/spec.md#listing-referrers, with the fallback tag for
 * registries without that list). An empty result is not a failure; a missing answer is.
 */
export async function findSignatures(
  client: Client,
  place: Place,
  digest: Digest,
  signal?: AbortSignal,
): Promise<readonly FoundSignature[]> {
  const visit: Visit = { client, place, signal };
  const name = digest.replace(':', '-');
  const manifests = [await manifestAt(visit, `${name}.sig`), ...(await referringManifests(visit, digest, name))];
  const layers = manifests
    .flatMap((body) => (body === undefined ? [] : signatureLayersIn(body)))
    .slice(0, mostSignatures);
  const found: FoundSignature[] = [];
  for (const { payload, signature } of layers) {
    const content = await payloadAt(visit, payload);
    if (content !== undefined) found.push({ payload: content, signature });
  }
  return found;
}

type Visit = { readonly client: Client; readonly place: Place; readonly signal: AbortSignal | undefined };

const mostSignatures = 20;

/** The smallest limit a registry may have for manifests. */
const maxManifestBytes = 4 * 1024 * 1024;

/** A payload has some hundred bytes, and the signer may add annotations. */
const maxPayloadBytes = 256 * 1024;

async function referringManifests(
  visit: Visit,
  digest: Digest,
  fallbackTag: string,
): Promise<readonly (Buffer | undefined)[]> {
  const query = `?artifactType=${encodeURIComponent(signatureArtifact)}`;
  const answer = await ask(visit, `referrers/${digest}${query}`, maxManifestBytes, true);
  // An answer of 500 and above does not mean that there are none. A registry without the list answers 404 or refuses.
  if (answer.status >= 500) requireFound(answer, '');
  const index = answer.status === 200 ? answer.body : await manifestAt(visit, fallbackTag);
  const bodies: (Buffer | undefined)[] = [];
  for (const manifest of index === undefined ? [] : signatureManifestsIn(index)) {
    bodies.push(await manifestAt(visit, manifest, manifest));
  }
  return bodies;
}

async function manifestAt(visit: Visit, reference: string, digest?: Digest): Promise<Buffer | undefined> {
  return contentOf(await ask(visit, `manifests/${reference}`, maxManifestBytes), digest);
}

async function payloadAt(visit: Visit, digest: Digest): Promise<Buffer | undefined> {
  return contentOf(await ask(visit, `blobs/${digest}`, maxPayloadBytes), digest);
}

function ask(
  { client, place, signal }: Visit,
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
