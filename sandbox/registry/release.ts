import type { ImageConfig } from '../../src/domain/container/container-settings.ts';
import type { Digest } from '../../src/domain/reference/digest.ts';
import type { Platform } from '../../src/domain/reference/platform.ts';
import type { Behaviour } from '../base/behaviour.ts';
import { digestOf } from '../base/ids.ts';

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

export type LayerSize = { readonly bytes: number };

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
