import { createHash } from 'node:crypto';
import type { Digest } from '../../../src/domain/image/image-reference.ts';
import type { Answer, Reply, SeenRequest } from '../http/http-server.ts';

/** A registry's content as plain data, and its answers. */
export type Content = {
  /** `team/app:latest` */
  readonly tags: Map<string, Digest>;
  readonly manifests: Map<Digest, { readonly type: string; readonly body: string }>;
  readonly blobs: Map<Digest, string>;
};

export type ImageSpec = {
  readonly os?: string;
  readonly architecture?: string;
  readonly variant?: string;
  readonly created?: string;
  /** Makes one image differ from another. */
  readonly label?: string;
  /** The label of its version. */
  readonly version?: string;
  readonly configType?: string;
  /** Its config lists a layer, as that of every image does. */
  readonly hasLayers?: boolean;
};

export type PushedImage = { readonly digest: Digest; readonly configDigest: Digest; readonly spec: ImageSpec };

export const ociManifest = 'application/vnd.oci.image.manifest.v1+json';
export const ociIndex = 'application/vnd.oci.image.index.v1+json';

export const dockerList = 'application/vnd.docker.distribution.manifest.list.v2+json';

export function emptyContent(): Content {
  return { tags: new Map(), manifests: new Map(), blobs: new Map() };
}

export function sha256(text: string | Buffer): Digest {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

/** An image of one platform; a tag is `repository:tag`. */
export function putImage(content: Content, tag: string | undefined, spec: ImageSpec = {}): PushedImage {
  const { os = 'linux', architecture = 'amd64', created = '2026-01-01T00:00:00.123456789Z', label = '' } = spec;
  const { configType = 'application/vnd.oci.image.config.v1+json', variant, version } = spec;
  const Labels = { label, 'org.opencontainers.image.version': version };
  const rootfs = spec.hasLayers === true ? { type: 'layers', diff_ids: [sha256('layer')] } : undefined;
  const config = JSON.stringify({ os, architecture, variant, created, config: { Labels }, rootfs });
  const configDigest = sha256(config);
  content.blobs.set(configDigest, config);
  const digest = putManifest(content, tag, ociManifest, {
    schemaVersion: 2,
    mediaType: ociManifest,
    config: { mediaType: configType, digest: configDigest, size: config.length },
    layers: [],
  });
  return { digest, configDigest, spec: { os, architecture, ...spec } };
}

export function putIndex(content: Content, tag: string, images: readonly PushedImage[], type = ociIndex): Digest {
  const manifests = images.map(({ digest, spec: { os, architecture, variant } }) => ({
    mediaType: ociManifest,
    digest,
    size: 1,
    platform: { os, architecture, variant },
  }));
  return putManifest(content, tag, type, { schemaVersion: 2, mediaType: type, manifests });
}

export function putManifest(content: Content, tag: string | undefined, type: string, manifest: object): Digest {
  const body = JSON.stringify(manifest);
  const digest = sha256(body);
  content.manifests.set(digest, { type, body });
  if (tag !== undefined) content.tags.set(tag, digest);
  return digest;
}

/** Answers like docker-registry, without authentication. */
export function serveContent(content: Content): (request: SeenRequest) => Reply {
  return function answer({ method, url, headers }) {
    const [, repository = '', kind = '', reference = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(url) ?? [];
    const digest = content.tags.get(`${repository}:${reference}`) ?? (reference as Digest);
    const blob = kind === 'blobs' ? content.blobs.get(digest) : undefined;
    if (blob !== undefined) return { headers: { 'content-type': 'application/octet-stream' }, body: blob };
    const manifest = kind === 'manifests' ? content.manifests.get(digest) : undefined;
    if (manifest === undefined)
      return {
        status: 404,
        body: JSON.stringify({ errors: [{ code: 'MANIFEST_UNKNOWN', message: 'manifest unknown' }] }),
      };
    const etag = `"${digest}"`;
    if (headers['if-none-match'] === etag) return { status: 304, headers: { etag } };
    const described = { 'content-type': manifest.type, 'docker-content-digest': digest, etag };
    if (method === 'HEAD') return { headers: { ...described, 'content-length': String(manifest.body.length) } };
    return { headers: described, body: manifest.body };
  };
}

/** A registry that requires a token of `realm`; `tokens` are the valid ones. */
export function requireToken(
  answer: Answer,
  realm: () => string,
  takes: (token: string, path: string) => boolean,
): Answer {
  return function guard(request) {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    if (token !== undefined && takes(token, request.url)) return answer(request);
    const [, repository = ''] = /^\/v2\/(.+)\/(?:manifests|blobs)\//.exec(request.url) ?? [];
    const challenge = `Bearer realm="${realm()}",service="test-registry",scope="repository:${repository}:pull"`;
    return {
      status: 401,
      headers: { 'www-authenticate': challenge },
      body: JSON.stringify({ errors: [{ code: 'UNAUTHORIZED', message: 'authentication required' }] }),
    };
  };
}
