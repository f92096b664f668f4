import type { CallOutcome, PullRequest } from '../../../domain/outside/engine.ts';
import type { Container, Image, ImageSummary } from '../../../domain/container/container.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import {
  repositoryName,
  tryParseImageReference,
  parseDigest,
  parseImageReference,
  type Digest,
} from '../../../domain/image/image-reference.ts';
import { arrayOf } from '../../../domain/text/json.ts';
import { createSlots } from '../../../domain/concurrency.ts';
import { quoted, printable } from '../../../domain/text/printable.ts';
import { capabilitiesOf, errorPatterns, change, readInspected, refusal } from './calls.ts';
import type { Client } from '../transport/client.ts';
import { readList } from './lists.ts';
import { completeImage, withoutLocalDigests } from './podman.ts';
import { lacksConfig, mayLackConfig, readImage, readImageSummary } from './translate.ts';
import { fields, isDefined, pathSegment, text, textMap, jsonLines, count } from '../transport/answer.ts';
import { withoutSecrets } from '../../../domain/text/hidden-secrets.ts';
import { formatPlatform, runsOtherThan, type Platform } from '../../../domain/image/platform.ts';
import { EngineFailure } from '../transport/request.ts';
import type { PullProgress } from '../../../domain/run/event.ts';
import type { RegistryCredentials } from '../../../domain/outside/registry.ts';

export async function listImages(client: Client, signal?: AbortSignal): Promise<readonly ImageSummary[]> {
  const answer = await readList(client, { thing: 'image', path: '/images/json', signal });
  const { dockerWords } = capabilitiesOf(await client.version(signal));
  const entries = dockerWords ? answer : answer.map(withoutLocalDigests);
  const doubtful = dockerWords ? entries.filter(mayLackConfig).map((entry) => text(fields(entry)['Id'])) : [];
  const slots = createSlots(imagesAtOnce);
  const asked = doubtful.slice(0, maxDoubtful);
  const inspected = await Promise.all(asked.map((id) => slots.use(() => inspectImage(client, id, signal), signal)));
  const known = new Set(inspected.flatMap((image) => (image === undefined || image.isConfigUnknown ? [] : [image.id])));
  const unknown = new Set(doubtful.filter((id) => !known.has(id)));
  const images = entries.map(readImageSummary).filter(isDefined);
  if (unknown.size === 0) return images;
  return images.map((image) => (unknown.has(image.id) ? { ...image, isConfigUnknown: true } : image));
}

const imagesAtOnce = 8;

/** More than an engine has of images without a build time. The others count as unknown. */
const maxDoubtful = 1_000;

export async function inspectImage(
  client: Client,
  idOrReference: string,
  signal?: AbortSignal,
): Promise<Image | undefined> {
  const answer = await readInspected(client, {
    doing: `inspect the image ${quoted(idOrReference, 300)}`,
    path: `${imagePath(idOrReference)}/json`,
    signal,
  });
  if (answer === undefined) return undefined;
  const { dockerWords } = capabilitiesOf(await client.version(signal));
  return readImage(dockerWords ? answer : await completeImage(client, answer, signal));
}

/** https://docs.docker.com/reference/api/engine/version-history/#v148-api-changes */
export async function manifestsIn(client: Client, imageId: string, signal?: AbortSignal): Promise<readonly Digest[]> {
  const answer = await readInspected(client, {
    doing: `inspect the image ${quoted(imageId, 300)}`,
    path: `${imagePath(imageId)}/json`,
    query: { manifests: '1' },
    signal,
  });
  return arrayOf(answer?.['Manifests']).flatMap((entry) => {
    const { Available, Kind, Descriptor } = fields(entry);
    return Available === true && Kind !== 'attestation' ? (parseDigest(text(fields(Descriptor)['digest'])) ?? []) : [];
  });
}

/**
 * With containerd's image store, an engine removes a tag to move it, so two calls at once may fail without an effect of
 * their own: https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Image/operation/ImageTag
 */
export async function tagImage(client: Client, imageId: string, reference: string): Promise<CallOutcome> {
  const parsed = tryParseImageReference(reference);
  if (parsed === undefined || parsed.digest !== undefined) {
    return { kind: 'refused', status: 400, message: `${quoted(reference, 300)} is not a repository with a tag` };
  }
  const query = { repo: repositoryName(parsed), tag: parsed.tag };
  for (let tries = 1; ; tries += 1) {
    const outcome = await change(client, { path: `${imagePath(imageId)}/tag`, query });
    const hasLostRace = outcome.kind === 'refused' && errorPatterns.tagMoved.test(outcome.message);
    if (!hasLostRace || tries === maxTries) return outcome;
    const tagged = await inspectImage(client, reference).catch(() => undefined);
    if (tagged?.id === imageId) return { kind: 'done' };
  }
}

/** Of several calls at once, one succeeds each time. */
const maxTries = 10;

export async function removeImage(client: Client, idOrReference: string): Promise<CallOutcome> {
  const outcome = await change(client, {
    method: 'DELETE',
    path: imagePath(idOrReference),
    query: { force: '0' },
    absentIsNoop: true,
  });
  const severalTags = outcome.kind === 'refused' && errorPatterns.severalTags.test(outcome.message);
  return severalTags ? { ...outcome, status: 409 } : outcome;
}

/** The slashes of a reference stay unescaped: a proxy with a list of allowed paths matches them. */
function imagePath(idOrReference: string): string {
  return `/images/${idOrReference.split('/').map(pathSegment).join('/')}`;
}

type Labels = NonNullable<Container['imageLabels']>;

type KnownLabels = Platform & { readonly labels: Labels };

/**
 * Labels of a container's image. Undefined when the engine no longer has the image, does not know or show them, or shows
 * those for another platform than the container's. An id names fixed content, so a cached result stays valid.
 */
export function createImageLabels(client: Client) {
  const known = new Map<string, KnownLabels>();

  function remember(imageId: string, labels: KnownLabels): void {
    if (known.size >= maxRemembered) known.clear();
    known.set(imageId, labels);
  }

  return {
    async of({ imageId, platform }: Container, signal?: AbortSignal): Promise<Labels | undefined> {
      const shown = known.get(imageId) ?? (await readLabels(client, imageId, signal));
      if (shown === undefined) return undefined;
      remember(imageId, shown);
      return runsOtherThan(shown, platform) ? undefined : shown.labels;
    },
    /** Remembers the labels of an image that was inspected for another reason. */
    note: ({ id, config, isConfigUnknown, os, architecture, variant }: Image): void => {
      if (!isConfigUnknown) remember(id, { os, architecture, variant, labels: textMap(config.Labels) });
    },
  };
}

/** More images than an engine's containers use. Above it, the cache is cleared. */
const maxRemembered = 500;

async function readLabels(client: Client, imageId: string, signal?: AbortSignal): Promise<KnownLabels | undefined> {
  if (imageId === '') return undefined;
  try {
    const doing = `inspect the image ${quoted(imageId)}`;
    const image = await readInspected(client, { doing, path: `${imagePath(imageId)}/json`, signal });
    if (image === undefined || lacksConfig(image)) return undefined;
    const [os, architecture, variant] = [text(image['Os']), text(image['Architecture']), text(image['Variant'])];
    return { os, architecture, variant, labels: textMap(fields(image['Config'])['Labels']) };
  } catch (error) {
    // An engine that cannot show this image may still answer about the container.
    if (error instanceof ServiceError && error.code === 'engine-refused') return undefined;
    throw error;
  }
}

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
      timeLimit: { for: 'silence', ms: request.idleTimeoutMs ?? client.deadlines.pullSilenceMs },
      signal,
    });
    // The registry's own words have its code: https://github.com/opencontainers/distribution-spec/blob/main/spec.md#error-codes
    if (reply.kind === 'error' && reply.isForbidden && !/^(?:unauthorized|forbidden:)/i.test(reply.message))
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
