import { httpRequest } from '../http.ts';
import type { HttpReply } from '../http.ts';
import { buildImage, buildIndex, wrapIndex } from './image.ts';
import type { BuiltImage, Content, ImagePlatform, ImageSpec } from './image.ts';

/** The target of a push, and the login. */
export type PushTarget = {
  /** `http://127.0.0.1:5000` */
  readonly url: string;
  readonly credentials?: { readonly username: string; readonly password: string };
  /** The authority that signed the registry's certificate, PEM. */
  readonly ca?: string;
};

export type Pushed = {
  /** Digest behind the tag: the index's, if there is one. */
  readonly digest: string;
  /** The image id in Docker's classic store; of the first platform of an index. */
  readonly configDigest: string;
  /** Digests of the image manifests of an index, in order; `digest` without an index. */
  readonly manifestDigests: readonly string[];
};

export type IndexSpec = {
  readonly platforms?: readonly ImagePlatform[];
  /** With an attestation manifest for each platform. */
  readonly attestations?: boolean;
  /** The tag points at an index that leads to the index of the images. */
  readonly isNested?: boolean;
};

const bothPlatforms = [
  { os: 'linux', architecture: 'amd64' },
  { os: 'linux', architecture: 'arm64', variant: 'v8' },
];

/** Builds an image and points `repository:tag` at it. About 20 ms, after the first push has sent busybox. */
export async function pushImage(target: PushTarget, repository: string, tag: string, spec: ImageSpec): Promise<Pushed> {
  const session = registrySession(target, repository);
  const image = buildImage(spec);
  await session.putImage(image, tag);
  const { digest } = image.manifest;
  return { digest, configDigest: image.config.digest, manifestDigests: [digest] };
}

/** Builds the same image for several platforms (default: amd64 and arm64) and points `repository:tag` at their index. */
export async function pushIndex(
  target: PushTarget,
  repository: string,
  tag: string,
  spec: ImageSpec,
  { platforms = bothPlatforms, attestations = false, isNested = false }: IndexSpec = {},
): Promise<Pushed> {
  const session = registrySession(target, repository);
  const images = platforms.map((platform) => buildImage({ ...spec, platform }));
  const statements = attestations
    ? images.map(({ manifest }) =>
        buildImage({
          format: 'oci',
          empty: true,
          platform: { os: 'unknown', architecture: 'unknown' },
          files: { 'statement.json': JSON.stringify({ subject: manifest.digest }) },
        }),
      )
    : [];
  for (const image of [...images, ...statements]) await session.putImage(image, image.manifest.digest);
  const inner = buildIndex(images, { format: spec.format ?? 'docker', attestations: statements });
  if (isNested) await session.putManifest(inner, inner.digest);
  const index = isNested ? wrapIndex(inner) : inner;
  await session.putManifest(index, tag);
  return {
    digest: index.digest,
    configDigest: images[0]?.config.digest ?? '',
    manifestDigests: images.map(({ manifest }) => manifest.digest),
  };
}

/** Pushes a manifest that is not an image, with its blobs. */
export async function pushArtifact(
  target: PushTarget,
  repository: string,
  tag: string,
  { blobs, manifest }: { readonly blobs: readonly Content[]; readonly manifest: Content },
): Promise<void> {
  const session = registrySession(target, repository);
  for (const blob of blobs) await session.putBlob(blob);
  await session.putManifest(manifest, tag);
}

type Session = {
  readonly putBlob: (blob: Content) => Promise<void>;
  readonly putImage: (image: BuiltImage, reference: string) => Promise<void>;
  readonly putManifest: (manifest: Content, reference: string) => Promise<void>;
};

/** One repository, one token: https://github.com/opencontainers/distribution-spec/blob/main/spec.md#push */
function registrySession({ url: base, credentials, ca }: PushTarget, repository: string): Session {
  const basic = credentials && basicAuthorization(credentials);
  let authorization = basic;

  const send = async (method: string, url: string, content?: Content): Promise<HttpReply> => {
    const attempt = (): Promise<HttpReply> =>
      httpRequest({
        method,
        url,
        headers: { ...(content && { 'content-type': content.mediaType }), ...(authorization && { authorization }) },
        ...(content && { body: content.bytes }),
        ...(ca === undefined ? {} : { ca }),
      });
    const reply = await attempt();
    const challenge = reply.headers['www-authenticate'];
    if (reply.status !== 401 || !challenge?.startsWith('Bearer ')) return reply;
    authorization = await bearerAuthorization(challenge, repository, { basic, ca });
    return attempt();
  };
  const putBlob = async (blob: Content): Promise<void> => {
    const known = await send('HEAD', `${base}/v2/${repository}/blobs/${blob.digest}`);
    if (known.status === 200) return;
    const opened = await send('POST', `${base}/v2/${repository}/blobs/uploads/`);
    expectStatus(opened, 202, `upload to ${repository}`);
    const location = new URL(opened.headers.location ?? '', base);
    location.searchParams.set('digest', blob.digest);
    const stored = await send('PUT', location.href, { ...blob, mediaType: 'application/octet-stream' });
    expectStatus(stored, 201, `blob of ${repository}`);
  };
  const putManifest = async (manifest: Content, reference: string): Promise<void> => {
    const stored = await send('PUT', `${base}/v2/${repository}/manifests/${reference}`, manifest);
    expectStatus(stored, 201, `manifest ${repository}:${reference}`);
  };
  return {
    putBlob,
    putManifest,
    putImage: async (image, reference) => {
      for (const blob of [...image.layers, image.config]) await putBlob(blob);
      await putManifest(image.manifest, reference);
    },
  };
}

async function bearerAuthorization(
  challenge: string,
  repository: string,
  { basic, ca }: { readonly basic: string | undefined; readonly ca: string | undefined },
): Promise<string> {
  const parameters = new Map([...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
  const url = new URL(parameters.get('realm') ?? '');
  url.searchParams.set('service', parameters.get('service') ?? '');
  url.searchParams.set('scope', `repository:${repository}:pull,push`);
  const reply = await httpRequest({
    url: url.href,
    headers: { ...(basic && { authorization: basic }) },
    ...(ca === undefined ? {} : { ca }),
  });
  expectStatus(reply, 200, `token for ${repository}`);
  return `Bearer ${(JSON.parse(reply.body.toString()) as { token: string }).token}`;
}

function basicAuthorization({ username, password }: { username: string; password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

function expectStatus(reply: HttpReply, status: number, what: string): void {
  if (reply.status !== status) throw new Error(`${what}: ${reply.status} ${reply.body.toString().slice(0, 300)}`);
}
