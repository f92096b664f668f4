import type { PullRequest } from '../../../domain/outside/engine.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import { parseImageReference, repositoryName } from '../../../domain/image/image-reference.ts';
import { withoutSecrets } from '../../../domain/text/hidden-secrets.ts';
import { formatPlatform } from '../../../domain/image/platform.ts';
import { printable, quoted } from '../../../domain/text/printable.ts';
import type { Client } from '../transport/client.ts';
import { EngineFailure } from '../transport/request.ts';
import { refusal } from './reads.ts';
import { jsonLines } from '../transport/answer.ts';
import { fields, text, count } from '../transport/json-fields.ts';
import type { PullProgress } from '../../../domain/run/event.ts';
import type { RegistryCredentials } from '../../../domain/outside/registry.ts';

/**
 * Pulls an image through the engine and reports its progress. An early error is a status; a later one is a line in a
 * successful answer. https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Image/operation/ImageCreate
 */
export async function pullImage(client: Client, request: PullRequest, signal?: AbortSignal): Promise<void> {
  const { credentials, onProgress } = request;
  const progress = createPullProgress();
  try {
    const reply = await client.send({
      method: 'POST',
      path: '/images/create',
      query: pullQuery(request),
      ...(credentials && { headers: { 'x-registry-auth': encodeCredentials(credentials) } }),
      socket: 'change',
      patience: { for: 'silence', ms: request.idleTimeoutMs ?? client.deadlines.pullSilenceMs },
      signal,
    });
    if (reply.kind === 'error' && reply.isForbidden && !reply.fromEngine)
      throw refusal(`pull ${quoted(request.reference, 300)}`, reply);
    if (reply.kind === 'error') throw pullFailure(request, reply.message);
    for await (const line of jsonLines(reply.body)) {
      const error = errorIn(line);
      if (error !== '') throw pullFailure(request, error);
      if (progress.take(line)) onProgress?.(progress.sum());
    }
  } catch (error) {
    if (error instanceof EngineFailure && error.code === 'timeout') throw pullFailure(request, error.why);
    throw error;
  }
}

/** Without a tag the engine would pull every tag. `parseImageReference` always returns one. */
function pullQuery({ reference, platform }: PullRequest): Record<string, string | undefined> {
  const parsed = parseImageReference(reference);
  return {
    fromImage: repositoryName(parsed),
    tag: parsed.digest ?? parsed.tag,
    platform: platform && formatPlatform(platform),
  };
}

function errorIn(line: unknown): string {
  const { error, errorDetail } = fields(line);
  return text(fields(errorDetail)['message']) || text(error);
}

/** The error of a pull, with the registry's text. */
function pullFailure({ reference, credentials }: PullRequest, engineText: string): ServiceError {
  const remedy = remedies.find(({ sign }) => sign.test(engineText))?.remedy;
  const shown = withoutSecrets(
    printable(engineText.trim(), 1_000),
    credentials === undefined ? [] : secretsOf(credentials),
  );
  return new ServiceError('pull-failed', `Cannot pull ${quoted(reference, 300)}: ${shown}`, { remedy });
}

/** Texts of engines and registries, each with its remedy. */
const remedies: readonly { readonly sign: RegExp; readonly remedy: string }[] = [
  {
    sign: /toomanyrequests|too many requests|rate limit/i,
    remedy: 'Wait, check less often, or log in: the registry limits pulls',
  },
  {
    sign: /unauthori[sz]ed|authentication required|access denied|denied:|no basic auth|\b401\b|\b403\b/i,
    remedy: 'The registry requires a login, or does not have the image: run docker login and check the name',
  },
  { sign: /manifest unknown|not found|no such manifest/i, remedy: 'Check the name and the tag of the image' },
  { sign: /no space left on device/i, remedy: 'Free space on the disk of the engine' },
  {
    sign: /no matching manifest|no image found in/i,
    remedy: 'The image exists only for other platforms: use a tag for the platform of this engine',
  },
];

type PullProgressCount = {
  /** Reads one line of the engine's report. True when it changed the sums. */
  readonly take: (line: unknown) => boolean;
  readonly sum: () => PullProgress;
};

/** An image has at most 127 layers. A stream with more ids than this is ignored. */
const maxLayers = 1_000;

/** More bytes than any layer has. Sums over all layers stay exact. */
const maxBytes = 1e12;

/** Sums the engine's progress reports of all layers. */
export function createPullProgress(): PullProgressCount {
  const layers = new Map<string, Layer>();
  let sums: PullProgress = { layersDone: 0, layers: 0, bytes: 0, totalBytes: 0 };

  function take(line: unknown): boolean {
    const { id, status, progressDetail } = fields(line);
    const layerId = text(id);
    const before = layers.get(layerId) ?? nothing;
    const layerStatus = text(status);
    if (layerId === '' || !layerStatuses.has(layerStatus) || (before === nothing && layers.size >= maxLayers))
      return false;
    const after = applyProgress(before, layerStatus, fields(progressDetail));
    layers.set(layerId, after);
    sums = {
      layersDone: sums.layersDone + Number(after.done) - Number(before.done),
      layers: layers.size,
      bytes: sums.bytes + after.bytes - before.bytes,
      totalBytes: sums.totalBytes + after.totalBytes - before.totalBytes,
    };
    return true;
  }

  return { take, sum: () => sums };
}

type Layer = { readonly bytes: number; readonly totalBytes: number; readonly done: boolean };

const nothing: Layer = { bytes: 0, totalBytes: 0, done: false };

/** Status texts of lines about a layer. Other lines, e.g. `Pulling from library/nginx`, have the tag as id. */
const layerStatuses: ReadonlySet<string> = new Set([
  'Pulling fs layer',
  'Waiting',
  'Downloading',
  'Verifying Checksum',
  'Download complete',
  'Extracting',
  'Pull complete',
  'Already exists',
]);

function applyProgress(layer: Layer, layerStatus: string, detail: Readonly<Record<string, unknown>>): Layer {
  if (layerStatus === 'Already exists' || layerStatus === 'Pull complete')
    return { ...layer, bytes: layer.totalBytes, done: true };
  if (layerStatus === 'Download complete') return { ...layer, bytes: layer.totalBytes };
  if (layerStatus !== 'Downloading') return layer;
  const totalBytes = Math.max(layer.totalBytes, Math.min(maxBytes, count(detail['total'])));
  return { ...layer, totalBytes, bytes: Math.min(totalBytes, Math.max(0, count(detail['current']))) };
}

/**
 * The header `X-Registry-Auth`: base64 for URLs, with padding. A swarm accepts it without padding, but every task then
 * fails with "No such image": https://docs.docker.com/reference/api/engine/#section/Authentication
 */
export function encodeCredentials(credentials: RegistryCredentials): string {
  return Buffer.from(JSON.stringify({ ...loginOf(credentials), serveraddress: credentials.serverAddress }))
    .toString('base64')
    .replaceAll('+', '-')
    .replaceAll('/', '_');
}

function loginOf(credentials: RegistryCredentials): Readonly<Record<string, string>> {
  switch (credentials.kind) {
    case 'password':
      return { username: credentials.username, password: credentials.password };
    case 'identity-token':
      return { username: credentials.username, identitytoken: credentials.identityToken };
    case 'registry-token':
      return { registrytoken: credentials.registryToken };
  }
}

/** The login's secrets, also in the encoded form that the engine sends. */
export function secretsOf(credentials: RegistryCredentials): readonly string[] {
  switch (credentials.kind) {
    case 'password': {
      const { username, password } = credentials;
      return [password, Buffer.from(`${username}:${password}`).toString('base64')];
    }
    case 'identity-token':
      return [credentials.identityToken];
    case 'registry-token':
      return [credentials.registryToken];
  }
}
