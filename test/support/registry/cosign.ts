import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Digest } from '../../../src/domain/reference/digest.ts';
import type { FoundSignature } from '../../../src/domain/signature/signature.ts';
import { sha256 } from './registry-content.ts';

/** A key pair in the form of `cosign generate-key-pair`. */
export type CosignKey = {
  /** Path of the public key, `NAME.pub`; removed after the test. */
  readonly file: string;
  /** Signs the image as cosign does, under the name of a repository. */
  readonly signImage: (digest: string, name: string) => FoundSignature;
  readonly signBytes: (payload: Buffer) => FoundSignature;
};

export function makeCosignKey(name: string, kind: 'ec' | 'ed25519' = 'ec'): CosignKey {
  const pair = kind === 'ec' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('ed25519');
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-keys-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, `${name}.pub`);
  writeFileSync(file, pair.publicKey.export({ type: 'spki', format: 'pem' }));
  const signBytes = (payload: Buffer) => ({ payload, signature: signWith(pair.privateKey, kind, payload) });
  return { file, signBytes, signImage: (digest, signedName) => signBytes(payloadOf(digest, signedName)) };
}

/** https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md#payload */
function payloadOf(digest: string, name: string): Buffer {
  const critical = {
    identity: { 'docker-reference': name },
    image: { 'docker-manifest-digest': digest },
    type: 'cosign container image signature',
  };
  return Buffer.from(JSON.stringify({ critical, optional: null }));
}

function signWith(key: KeyObject, kind: 'ec' | 'ed25519', payload: Buffer): string {
  return sign(kind === 'ec' ? 'sha256' : null, payload, key).toString('base64');
}

/** The manifest that cosign pushes, with its blobs; `subject` makes it refer to the image. */
export function signatureArtifact(
  found: readonly FoundSignature[],
  subject?: Digest,
): { readonly manifest: Blob; readonly blobs: readonly Blob[] } {
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

type Blob = { readonly mediaType: string; readonly bytes: Buffer; readonly digest: string };

const manifestType = 'application/vnd.oci.image.manifest.v1+json';
export const artifactType = 'application/vnd.dev.cosign.artifact.sig.v1+json';
const payloadType = 'application/vnd.dev.cosign.simplesigning.v1+json';

/** Content with its digest. */
export function blobOf(mediaType: string, bytes: Buffer): Blob {
  return { mediaType, bytes, digest: sha256(bytes) };
}

function describeBlob(blob: Blob | undefined): object {
  return { mediaType: blob?.mediaType, digest: blob?.digest, size: blob?.bytes.length };
}
