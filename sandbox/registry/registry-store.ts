import { maxTags, type RegistryCredentials, type TagList } from '../../src/domain/outside/registry.ts';
import {
  formatReference,
  parseImageReference,
  repositoryName,
  type Digest,
  type ImageReference,
} from '../../src/domain/image/image-reference.ts';
import type { FoundSignature } from '../../src/domain/image/signature.ts';
import { ServiceError, type ErrorCode } from '../../src/domain/text/errors.ts';
import type { Clock } from '../../src/domain/outside/outside.ts';
import type { ImageConfig } from '../../src/domain/container/container.ts';
import type { Platform } from '../../src/domain/image/platform.ts';
import type { Behaviour } from '../base/behaviour.ts';
import { digestOf } from '../base/simulation.ts';

/** All registries of the world, their content and their faults. */
export type RegistryStore = {
  /** Moves the tag to the release. The release stays available by its digest. */
  readonly publish: (reference: string, release: Release) => Manifest;
  /** Deletes the tag; its manifest stays. */
  readonly untag: (reference: string) => void;
  /** Takes effect at once. `target` is a host or `host/repository`; the more specific one wins. */
  readonly misbehave: (target: string, misbehaviour: RegistryFault) => void;
  readonly behaveAgain: (target: string) => void;
  /** One request for a manifest; throws the errors of a registry adapter. */
  readonly fetch: (reference: ImageReference, visitor?: RegistryCaller) => Promise<Manifest>;
  /** One request for all tags of a repository; throws the errors of a registry adapter. */
  readonly list: (reference: ImageReference, visitor?: RegistryCaller) => Promise<TagList>;
  /** Adds a signature of a manifest. */
  readonly sign: (reference: string, signature: FoundSignature) => void;
  /** One request for the signatures of a manifest; throws the errors of a registry adapter. */
  readonly signatures: (reference: ImageReference, visitor?: RegistryCaller) => Promise<readonly FoundSignature[]>;
  /** Fault in the middle of a pull. */
  readonly pullFault: (reference: ImageReference) => PullFault | undefined;
  /** Number of requests for manifests since the start. */
  readonly requests: () => number;
  /** Number of requests for tags since the start. */
  readonly listings: () => number;
};

/** Caller of a request, and its signal. */
export type RegistryCaller = {
  readonly credentials?: RegistryCredentials | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** `breaks`: with the engine's message. */
type PullFault = { readonly kind: 'breaks'; readonly message: string } | { readonly kind: 'stalls' };

export type RegistryFault =
  /** Refuses every request, like Docker Hub with 401 and ghcr.io with 403. */
  | { readonly kind: 'denied' }
  /** Accepts requests with this login. */
  | { readonly kind: 'private'; readonly username: string; readonly password: string }
  | { readonly kind: 'not-found' }
  /** Docker Hub: a number of manifests in a window, then 429 until it ends. */
  | { readonly kind: 'rate-limited'; readonly max: number; readonly windowMs: number }
  | { readonly kind: 'unreachable' }
  /** Accepts the connection and never answers, like a firewall that drops packets. */
  | { readonly kind: 'silent'; readonly deadlineMs: number }
  | { readonly kind: 'slow'; readonly ms: number }
  /** Answers 405 for lists of tags, like some proxies. */
  | { readonly kind: 'lists-no-tags' }
  /** Answers for manifests, and breaks off in the middle of a blob. */
  | { readonly kind: 'breaks-pulls'; readonly message?: string }
  /** Answers for manifests, and then sends no byte of a blob and does not close the connection. */
  | { readonly kind: 'stalls-pulls' };

export function createRegistryStore(clock: Clock): RegistryStore {
  const manifests = new Map<string, Manifest>();
  const tags = new Map<string, Digest>();
  const signatures = new Map<string, FoundSignature[]>();
  const misbehaviours = new Map<string, RegistryFault>();
  const windows = new Map<string, Window>();
  let requests = 0;
  let listings = 0;

  function publish(text: string, release: Release): Manifest {
    const reference = parseImageReference(text);
    const manifest = buildRelease(release);
    const repository = repositoryName(reference);
    for (const part of withChildren(manifest)) manifests.set(`${repository}@${part.digest}`, part);
    tags.set(`${repository}:${reference.tag ?? 'latest'}`, manifest.digest);
    return manifest;
  }

  async function fetch(reference: ImageReference, visitor: RegistryCaller = {}): Promise<Manifest> {
    requests++;
    await enter(reference, visitor);
    const repository = repositoryName(reference);
    const digest = reference.digest ?? tags.get(`${repository}:${reference.tag ?? 'latest'}`);
    const manifest = manifests.get(`${repository}@${digest ?? ''}`);
    if (manifest === undefined) throw failure('registry-not-found', reference, 'manifest unknown');
    return manifest;
  }

  async function list(reference: ImageReference, visitor: RegistryCaller = {}): Promise<TagList> {
    listings++;
    await enter(reference, visitor);
    if (misbehaviourOf(reference)?.kind === 'lists-no-tags')
      throw failure('registry-invalid', reference, 'it does not list the tags of a repository');
    const start = `${repositoryName(reference)}:`;
    const found = [...tags.keys()].filter((key) => key.startsWith(start)).map((key) => key.slice(start.length));
    const isKnown = [...manifests.keys()].some((key) => key.startsWith(`${repositoryName(reference)}@`));
    if (!isKnown) throw failure('registry-not-found', reference, 'it has no such repository');
    return { tags: found.slice(0, maxTags).join('\n'), isCut: found.length > maxTags };
  }

  async function enter(reference: ImageReference, visitor: RegistryCaller): Promise<void> {
    const behaviour = misbehaviourOf(reference);
    if (behaviour !== undefined) await misbehave(behaviour, reference, visitor);
  }

  async function misbehave(
    behaviour: RegistryFault,
    reference: ImageReference,
    visitor: RegistryCaller,
  ): Promise<void> {
    const { credentials, signal } = visitor;
    switch (behaviour.kind) {
      case 'denied':
        throw failure('registry-denied', reference, 'access denied');
      case 'private':
        if (mayEnter(behaviour, credentials)) return undefined;
        throw failure('registry-denied', reference, 'unauthorized');
      case 'not-found':
        throw failure('registry-not-found', reference, 'manifest unknown');
      case 'unreachable':
        throw failure('registry-unreachable', reference, 'connection refused');
      case 'silent':
        await clock.sleep(behaviour.deadlineMs, signal);
        throw failure('timeout', reference, 'no answer');
      case 'slow':
        return clock.sleep(behaviour.ms, signal);
      case 'rate-limited':
        return countRequest(behaviour, reference);
      case 'lists-no-tags':
      case 'breaks-pulls':
      case 'stalls-pulls':
        return undefined;
    }
  }

  function countRequest(limit: Limit, reference: ImageReference): void {
    const now = clock.monotonicMs();
    const current = windows.get(reference.registry);
    const window =
      current !== undefined && now < current.endsAtMs ? current : { endsAtMs: now + limit.windowMs, count: 0 };
    window.count++;
    windows.set(reference.registry, window);
    if (window.count <= limit.max) return;
    throw failure('registry-rate-limited', reference, 'too many requests', window.endsAtMs - now);
  }

  function misbehaviourOf(reference: ImageReference): RegistryFault | undefined {
    return misbehaviours.get(repositoryName(reference)) ?? misbehaviours.get(reference.registry);
  }

  return {
    publish,
    untag: (text) => {
      const reference = parseImageReference(text);
      tags.delete(`${repositoryName(reference)}:${reference.tag ?? 'latest'}`);
    },
    misbehave: (target, misbehaviour) => void misbehaviours.set(target, misbehaviour),
    behaveAgain: (target) => void misbehaviours.delete(target),
    fetch,
    list,
    sign: (text, signature) => {
      const key = formatReference(parseImageReference(text));
      signatures.set(key, [...(signatures.get(key) ?? []), signature]);
    },
    signatures: async (reference, visitor = {}) => {
      await enter(reference, visitor);
      return signatures.get(formatReference({ ...reference, tag: undefined })) ?? [];
    },
    pullFault: (reference) => {
      const behaviour = misbehaviourOf(reference);
      if (behaviour?.kind === 'stalls-pulls') return { kind: 'stalls' };
      if (behaviour?.kind !== 'breaks-pulls') return undefined;
      return { kind: 'breaks', message: behaviour.message ?? 'unexpected EOF' };
    },
    requests: () => requests,
    listings: () => listings,
  };
}

type Window = { readonly endsAtMs: number; count: number };
type Limit = Extract<RegistryFault, { kind: 'rate-limited' }>;
type FailureCode = Extract<ErrorCode, `registry-${string}` | 'timeout'>;

function mayEnter(
  { username, password }: Extract<RegistryFault, { kind: 'private' }>,
  credentials: RegistryCredentials | undefined,
): boolean {
  if (credentials?.kind === 'registry-token') return true;
  if (credentials?.username !== username) return false;
  return credentials.kind === 'identity-token' || credentials.password === password;
}

function withChildren(manifest: Manifest): readonly Manifest[] {
  if (manifest.kind === 'image') return [manifest];
  return [
    manifest,
    ...manifest.images.map((image) => ({ kind: 'image', digest: image.manifestDigest, image }) as const),
  ];
}

function failure(code: FailureCode, reference: ImageReference, why: string, retryAfterMs?: number): ServiceError {
  return new ServiceError(
    code,
    `Cannot ask the registry "${reference.registry}" about "${reference.repository}": ${why}`,
    retryAfterMs === undefined ? {} : { retryAfterMs },
  );
}

/** A pushed build. */
export type Release = {
  /** Shown as the label `org.opencontainers.image.version`. Releases with equal fields are equal. */
  readonly version?: string;
  readonly config?: ImageConfig;
  readonly behaviour?: Behaviour;
  readonly createdAtMs?: number;
  /** By default one image without an index. Several images, or one in an array, have an index. */
  readonly platforms?: readonly Platform[];
  readonly layers?: readonly LayerSize[];
};

type LayerSize = { readonly bytes: number };

/** One image for one platform, as in registry and engine. */
export type SandboxImage = {
  /** The digest of the image config: the image id in Docker's classic store. */
  readonly id: Digest;
  readonly manifestDigest: Digest;
  readonly platform: Platform;
  readonly createdAtMs: number;
  readonly config: ImageConfig;
  readonly behaviour: Behaviour;
  readonly layers: readonly LayerSize[];
};

/** A tag's manifest. */
export type Manifest =
  | { readonly kind: 'image'; readonly digest: Digest; readonly image: SandboxImage }
  | { readonly kind: 'index'; readonly digest: Digest; readonly images: readonly SandboxImage[] };

export const amd64: Platform = { os: 'linux', architecture: 'amd64', variant: '' };

/** Builds a release; the same release always has the same digests. */
export function buildRelease(release: Release): Manifest {
  if (release.platforms === undefined) {
    const image = buildImage(release, amd64);
    return { kind: 'image', digest: image.manifestDigest, image };
  }
  const images = release.platforms.map((platform) => buildImage(release, platform));
  return { kind: 'index', digest: digestOf({ index: images.map((image) => image.manifestDigest) }), images };
}

function buildImage(release: Release, platform: Platform): SandboxImage {
  const content = {
    platform,
    createdAtMs: release.createdAtMs ?? firstOf2026,
    config: imageConfig(release),
    behaviour: release.behaviour ?? {},
    layers: release.layers ?? defaultLayers,
  };
  const id = digestOf(content);
  return { ...content, id, manifestDigest: digestOf({ manifest: id }) };
}

/** The fields that an engine shows for every image, even if the build does not set them. */
function imageConfig({ config, version }: Release): ImageConfig {
  const labels = { ...config?.Labels, ...(version !== undefined && { 'org.opencontainers.image.version': version }) };
  return {
    User: '',
    Env: ['PATH=/bin'],
    Cmd: ['service'],
    Entrypoint: null,
    Volumes: null,
    WorkingDir: '',
    OnBuild: null,
    ...config,
    Labels: Object.keys(labels).length > 0 ? labels : null,
  };
}

const firstOf2026 = Date.UTC(2026, 0, 1);
const defaultLayers: readonly LayerSize[] = [{ bytes: 1_100_000 }, { bytes: 120 }];
