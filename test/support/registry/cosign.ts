import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Digest } from '../../../src/domain/image/image-reference.ts';
import type { FoundSignature, FoundSignatures } from '../../../src/domain/image/signature.ts';
import { sha256 } from './registry-content.ts';

/** A signature of cosign 2. */
export type SimpleSigning = Extract<FoundSignature, { kind: 'simple-signing' }>;

/** A key pair in the form of `cosign generate-key-pair`. */
export type CosignKey = {
  /** Path of the public key, `NAME.pub`; removed after the test. */
  readonly file: string;
  /** Signs the image as cosign 2 does, under the name of a repository. */
  readonly signImage: (digest: string, name: string, optional?: object) => SimpleSigning;
  readonly signBytes: (payload: Buffer) => SimpleSigning;
  /** A bundle as cosign 3 makes it. */
  readonly bundle: (digest: string, parts?: BundleParts) => object;
  /** The base64 of SHA-256 of the public key, as a bundle names it. */
  readonly hint: string;
};

/** The difference from a bundle of `cosign sign`. */
export type BundleParts = {
  readonly annotations?: object;
  readonly predicateType?: string;
  readonly payloadType?: string;
  /** In place of the whole statement. */
  readonly statement?: Buffer;
};

const curves = { ec: 'P-256', p384: 'P-384', p521: 'P-521' } as const;

export type KeyKind = keyof typeof curves | 'ed25519' | 'rsa';

export function makeCosignKey(name: string, kind: KeyKind = 'ec'): CosignKey {
  const { publicKey, privateKey } = makePair(kind);
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-keys-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, `${name}.pub`);
  writeFileSync(file, publicKey.export({ type: 'spki', format: 'pem' }));
  const hint = createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64');
  const signed = (content: Buffer) => sign(hashOf[kind], content, privateKey).toString('base64');
  const signBytes = (payload: Buffer) => ({ kind: 'simple-signing', payload, signature: signed(payload) }) as const;
  return {
    file,
    hint,
    signBytes,
    signImage: (digest, signedName, optional) => signBytes(payloadOf(digest, signedName, optional)),
    bundle: (digest, parts = {}) => {
      const { payloadType = 'application/vnd.in-toto+json' } = parts;
      const payload = parts.statement ?? statementOf(digest, parts);
      const head = Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `);
      const signatures = [{ sig: signed(Buffer.concat([head, payload])) }];
      return bundleOf(hint, { dsseEnvelope: { payload: payload.toString('base64'), payloadType, signatures } });
    },
  };
}

function makePair(kind: KeyKind): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
  if (kind === 'ed25519') return generateKeyPairSync(kind);
  if (kind === 'rsa') return generateKeyPairSync(kind, { modulusLength: 2048 });
  return generateKeyPairSync('ec', { namedCurve: curves[kind] });
}

const hashOf = { ec: 'sha256', p384: 'sha384', p521: 'sha512', rsa: 'sha256', ed25519: null } as const;

/** https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md#payload */
function payloadOf(digest: string, name: string, optional: object | null = null): Buffer {
  const critical = {
    identity: { 'docker-reference': name },
    image: { 'docker-manifest-digest': digest },
    type: 'cosign container image signature',
  };
  return Buffer.from(JSON.stringify({ critical, optional }));
}

function statementOf(digest: string, { annotations = {}, predicateType = signPredicate }: BundleParts): Buffer {
  const [algorithm = '', hex = ''] = digest.split(':');
  const subject = [{ digest: { [algorithm]: hex }, annotations }];
  return Buffer.from(
    JSON.stringify({ _type: 'https://in-toto.io/Statement/v1', subject, predicateType, predicate: {} }),
  );
}

const signPredicate = 'https://sigstore.dev/cosign/sign/v1';

/** A bundle with this content and the hint of a key. */
export function bundleOf(hint: string, content: object): object {
  return { mediaType: bundleType, verificationMaterial: { publicKey: { hint } }, ...content };
}

/** The manifest that cosign 2 pushes, with its blobs; `subject` makes it refer to the image. */
export function signatureArtifact(found: readonly SimpleSigning[], subject?: Digest): Artifact {
  const config = blobOf('application/vnd.oci.image.config.v1+json', Buffer.from('{}'));
  const payloads = found.map(({ payload }) => blobOf(payloadType, Buffer.from(payload)));
  const layers = found.map(({ signature }, at) => ({
    ...describeBlob(payloads[at]),
    annotations: { 'dev.cosignproject.cosign/signature': signature },
  }));
  const manifest = {
    schemaVersion: 2,
    mediaType: manifestType,
    config: describeBlob(config),
    layers,
    ...(subject === undefined
      ? {}
      : { artifactType: artifactType, subject: { mediaType: manifestType, digest: subject, size: 1 } }),
  };
  return { manifest: blobOf(manifestType, Buffer.from(JSON.stringify(manifest))), blobs: [config, ...payloads] };
}

/** The manifest that cosign 3 pushes, with a bundle, or with any bytes in its place. */
export function bundleArtifact(subject: Digest, bundle: object | Buffer, { isDescribed = true } = {}): Artifact {
  const config = blobOf('application/vnd.oci.empty.v1+json', Buffer.from('{}'));
  const layer = blobOf(bundleType, Buffer.isBuffer(bundle) ? bundle : Buffer.from(JSON.stringify(bundle)));
  const manifest = {
    schemaVersion: 2,
    mediaType: manifestType,
    artifactType: bundleType,
    config: describeBlob(config),
    layers: [describeBlob(layer)],
    subject: { mediaType: manifestType, digest: subject, size: 1 },
    ...(isDescribed && { annotations: { 'dev.sigstore.bundle.predicateType': signPredicate } }),
  };
  return { manifest: blobOf(manifestType, Buffer.from(JSON.stringify(manifest))), blobs: [config, layer] };
}

/** The list of an image's referrers, as a registry answers it or as it is pushed behind the tag in its place. */
export function referrersIndex(artifacts: readonly Artifact[]): Blob {
  const manifests = artifacts.map(({ manifest }) => {
    const { artifactType: type, annotations } = JSON.parse(manifest.bytes.toString()) as Record<string, unknown>;
    return { ...describeBlob(manifest), artifactType: type, annotations };
  });
  return blobOf(indexType, Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: indexType, manifests })));
}

export type Artifact = { readonly manifest: Blob; readonly blobs: readonly Blob[] };

type Blob = { readonly mediaType: string; readonly bytes: Buffer; readonly digest: string };

export const indexType = 'application/vnd.oci.image.index.v1+json';
const manifestType = 'application/vnd.oci.image.manifest.v1+json';
export const artifactType = 'application/vnd.dev.cosign.artifact.sig.v1+json';
export const bundleType = 'application/vnd.dev.sigstore.bundle.v0.3+json';
const payloadType = 'application/vnd.dev.cosign.simplesigning.v1+json';

/** Content with its digest. */
export function blobOf(mediaType: string, bytes: Buffer): Blob {
  return { mediaType, bytes, digest: sha256(bytes) };
}

function describeBlob(blob: Blob | undefined): object {
  return { mediaType: blob?.mediaType, digest: blob?.digest, size: blob?.bytes.length };
}

/** The signatures of all parts. */
export async function allSignatures(first: Promise<FoundSignatures>): Promise<readonly FoundSignature[]> {
  const found: FoundSignature[] = [];
  for (let part: FoundSignatures | undefined = await first; part !== undefined; part = await part.next?.())
    found.push(...part.found);
  return found;
}
