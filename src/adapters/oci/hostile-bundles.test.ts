import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  allSignatures,
  type Artifact,
  blobOf,
  bundleArtifact,
  bundleOf,
  bundleType,
  type CosignKey,
  makeCosignKey,
} from '../../../test/support/registry/cosign.ts';
import { at, createOciRig } from '../../../test/support/registry/oci-rig.ts';
import { type ReferrersMode, serveSignatures } from '../../../test/support/registry/signature-server.ts';
import { parseImageReference, type Digest } from '../../domain/image/image-reference.ts';
import { createSignatureJudge } from '../../domain/image/signature.ts';
import { readVerificationKeys } from '../process/verification-keys.ts';

const rig = createOciRig();

const image = Buffer.from('{"schemaVersion":2,"config":{},"layers":[]}');
const hex = createHash('sha256').update(image).digest('hex');
const digest: Digest = `sha256:${hex}`;
const otherHex = 'b'.repeat(64);
const other: Digest = `sha256:${otherHex}`;
const signed = 'https://sigstore.dev/cosign/sign/v1';
const statementType = 'https://in-toto.io/Statement/v1';

type Envelope = { readonly payload: string; readonly payloadType: string; readonly signatures: { sig: string }[] };

/** Changes of a good bundle of `team`, in place of it, and the reason for which it does not count. */
const unreadable = 'a signature of it cannot be read: ';
const otherKey = 'none of its signatures is of that key';
const noImage = 'its signature is not for an image';

type Variant = (keys: { readonly team: CosignKey; readonly thief: CosignKey }) => object | Buffer;

const refused: Readonly<Record<string, readonly [Variant, string]>> = {
  'of another digest': [({ team }) => team.bundle(other), `its signature is of another digest, ${other}`],
  'of another key': [({ thief }) => thief.bundle(digest), otherKey],
  'of another key, with the hint of ours': [
    ({ team, thief }) => ({ ...thief.bundle(digest), verificationMaterial: { publicKey: { hint: team.hint } } }),
    otherKey,
  ],
  'with the predicate of a list of packages, called a signature': [
    ({ team }) => team.bundle(digest, { predicateType: 'https://spdx.dev/Document' }),
    'it has no signature, but an attestation of the kind "https://spdx.dev/Document"',
  ],
  'with a predicate that continues the right one': [
    ({ team }) => team.bundle(digest, { predicateType: `${signed}/x` }),
    `it has no signature, but an attestation of the kind "${signed}/x"`,
  ],
  'without a predicate': [
    ({ team }) => team.bundle(digest, { predicateType: '' }),
    'it has no signature, but an attestation of the kind ""',
  ],
  'of a statement of an unknown version': [
    ({ team }) => team.bundle(digest, { statement: statement({ _type: 'https://in-toto.io/Statement/v9' }) }),
    noImage,
  ],
  'with a payload of another type': [({ team }) => team.bundle(digest, { payloadType: 'application/json' }), noImage],
  'with a type that was changed after signing': [
    ({ team }) => withEnvelope(team.bundle(digest, { payloadType: 'text/x' }), { payloadType: inToto }),
    otherKey,
  ],
  'with the beginning of the payload moved into the type': [
    ({ team }) => withEnvelope(team.bundle(digest), ({ payload }) => moved(payload)),
    otherKey,
  ],
  'signed without the frame of DSSE': [
    ({ team }) => {
      const payload = statement({});
      const sig = team.signBytes(payload).signature;
      return bundleOf(team.hint, {
        dsseEnvelope: { payload: payload.toString('base64'), payloadType: inToto, signatures: [{ sig }] },
      });
    },
    otherKey,
  ],
  'with a statement that was changed after signing': [
    ({ team }) => withEnvelope(team.bundle(other), { payload: statement({}).toString('base64') }),
    otherKey,
  ],
  'with two signatures, the first of another key': [
    ({ team, thief }) => withSignatures(thief.bundle(digest), team.bundle(digest)),
    `${unreadable}its bundle has 2 signatures instead of one`,
  ],
  'with two signatures, the first of ours': [
    ({ team, thief }) => withSignatures(team.bundle(digest), thief.bundle(digest)),
    `${unreadable}its bundle has 2 signatures instead of one`,
  ],
  'with no signature': [
    ({ team }) => withEnvelope(team.bundle(digest), { signatures: [] }),
    `${unreadable}its bundle has 0 signatures instead of one`,
  ],
  'with base64 in the alphabet of URLs': [
    ({ team }) => withSignature(team, (sig) => sig.replaceAll('+', '-').replaceAll('/', '_').replace(/^./, '_')),
    `${unreadable}its bundle lacks a signature, or what was signed`,
  ],
  'with base64 that lacks its padding': [
    ({ team }) =>
      withEnvelope(team.bundle(digest, { statement: padded() }), ({ payload }) => ({
        payload: payload.replace(/=+$/, ''),
      })),
    `${unreadable}its bundle lacks a signature, or what was signed`,
  ],
  'with base64 in lines': [
    ({ team }) => withSignature(team, (sig) => `${sig.slice(0, 40)}\n${sig.slice(40)}`),
    `${unreadable}its bundle lacks a signature, or what was signed`,
  ],
  'with bits behind the end of its base64': [
    ({ team }) =>
      withEnvelope(team.bundle(digest, { statement: padded() }), ({ payload }) => ({
        payload: payload.replace(/.=/, (end) => `${String.fromCharCode(end.charCodeAt(0) + 1)}=`),
      })),
    `${unreadable}its bundle lacks a signature, or what was signed`,
  ],
  'with an envelope twice': [
    ({ team, thief }) => twice(thief.bundle(digest), team.bundle(digest), 'dsseEnvelope'),
    `${unreadable}its bundle can be read in two ways: a field is given twice`,
  ],
  'with an envelope twice, in another case': [
    ({ team, thief }) => twice(thief.bundle(digest), team.bundle(digest), 'DSSEEnvelope'),
    `${unreadable}its bundle can be read in two ways: a field is given twice`,
  ],
  'of a statement with two lists of subjects': [
    ({ team }) => team.bundle(digest, { statement: doubled('"subject":[],') }),
    noImage,
  ],
  'of a statement with two predicates, in another case': [
    ({ team }) => team.bundle(digest, { statement: doubled('"PredicateType":"https://spdx.dev/Document",') }),
    noImage,
  ],
  'of a statement that is not UTF-8': [
    ({ team }) => team.bundle(digest, { statement: Buffer.concat([statement({}), Buffer.from([0xff])]) }),
    noImage,
  ],
  'of a statement without a subject': [
    ({ team }) => team.bundle(digest, { statement: statement({ subject: [] }) }),
    'its signature names no digest',
  ],
  'of a subject without a digest': [
    ({ team }) => team.bundle(digest, { statement: statement({ subject: [{ name: 'app' }] }) }),
    'its signature names no digest',
  ],
  'of a digest in upper case': [
    ({ team }) =>
      team.bundle(digest, { statement: statement({ subject: [{ digest: { sha256: hex.toUpperCase() } }] }) }),
    'its signature names no digest',
  ],
  'of a digest that is a list': [
    ({ team }) => team.bundle(digest, { statement: statement({ subject: [{ digest: { sha256: [hex, otherHex] } }] }) }),
    'its signature names no digest',
  ],
  'of a digest of an old kind': [
    ({ team }) => team.bundle(digest, { statement: statement({ subject: [{ digest: { sha1: 'a'.repeat(40) } }] }) }),
    'its signature names no digest',
  ],
  'of a subject with the name of another repository': [
    ({ team }) =>
      team.bundle(digest, {
        statement: statement({ subject: [{ name: 'registry.test/team/other', digest: { sha256: hex } }] }),
      }),
    'its signature is of another repository, "registry.test/team/other"',
  ],
  'of an unknown version': [
    ({ team }) => ({ ...team.bundle(digest), mediaType: bundleType.replace('0.3', '0.4') }),
    `${unreadable}its bundle has the unknown type "${bundleType.replace('0.3', '0.4')}"`,
  ],
  'without a type': [
    ({ team }) => ({ ...team.bundle(digest), mediaType: undefined }),
    `${unreadable}its bundle has the unknown type ""`,
  ],
  'of a certificate': [
    ({ thief }) => ({ ...thief.bundle(digest), verificationMaterial: { certificate: { rawBytes: 'AAAA' } } }),
    'its signature is of a certificate, and only keys are supported',
  ],
  'of no key and no certificate': [
    ({ team }) => ({ ...team.bundle(digest), verificationMaterial: {} }),
    `${unreadable}its bundle names neither a key nor a certificate`,
  ],
  'with signatures of two kinds': [
    ({ team }) => ({ ...team.bundle(digest), messageSignature: messageOf(team, image) }),
    `${unreadable}its bundle has no signature, or two kinds of them`,
  ],
  'with a signature of no kind': [
    ({ team }) => ({ ...team.bundle(digest), dsseEnvelope: undefined }),
    `${unreadable}its bundle has no signature, or two kinds of them`,
  ],
  'over a file that is not the image': [
    ({ team }) => bundleOf(team.hint, { messageSignature: messageOf(team, Buffer.from('x')) }),
    `${unreadable}its bundle is of another digest, sha256:${createHash('sha256').update('x').digest('hex')}`,
  ],
  'over a file that only claims to be the image': [
    ({ team }) => bundleOf(team.hint, { messageSignature: messageOf(team, Buffer.from('x'), image) }),
    otherKey,
  ],
  'over a digest of another kind': [
    ({ team }) => {
      const message = messageOf(team, image);
      return bundleOf(team.hint, {
        messageSignature: { ...message, messageDigest: { algorithm: 'SHA3_512', digest: 'AAAA' } },
      });
    },
    `${unreadable}its bundle is over a digest of an unknown kind`,
  ],
  'over a longer digest of a file that is not the image': [
    ({ team }) =>
      bundleOf(team.hint, { messageSignature: messageOf(team, image, Buffer.from('x'), ['SHA2_384', 'sha384']) }),
    `${unreadable}its bundle is of another digest, sha384:${createHash('sha384').update('x').digest('hex')}`,
  ],
  'that ends early': [
    ({ team }) => Buffer.from(JSON.stringify(team.bundle(digest)).slice(0, -20)),
    `${unreadable}its bundle is not JSON`,
  ],
  'that is empty': [() => Buffer.alloc(0), `${unreadable}its bundle is not JSON`],
  'that is a list': [() => Buffer.from('[]'), `${unreadable}its bundle is not JSON`],
  'that is nested deeply': [() => Buffer.from('['.repeat(200_000)), `${unreadable}its bundle is not JSON`],
  'that is very large': [
    ({ team }) => ({ ...team.bundle(digest), padding: 'x'.repeat(300_000) }),
    `${unreadable}it answered with more than 262144 bytes`,
  ],
};

const counted: Readonly<Record<string, Variant>> = {
  'as cosign makes it': ({ team }) => team.bundle(digest),
  'with the hint of another key': ({ team, thief }) => ({
    ...team.bundle(digest),
    verificationMaterial: { publicKey: { hint: thief.hint } },
  }),
  'without a hint': ({ team }) => ({ ...team.bundle(digest), verificationMaterial: { publicKey: {} } }),
  'with an entry of a transparency log': ({ team }) => ({
    ...team.bundle(digest),
    verificationMaterial: { publicKey: { hint: team.hint }, tlogEntries: [{ logIndex: '1' }] },
  }),
  'of an earlier version': ({ team }) => ({
    ...team.bundle(digest),
    mediaType: 'application/vnd.dev.sigstore.bundle+json;version=0.2',
  }),
  'of several images': ({ team }) =>
    team.bundle(digest, {
      statement: statement({ subject: [{ digest: { sha256: otherHex } }, { digest: { sha256: hex, sha512: 'x' } }] }),
    }),
  'of a subject with the name of this repository': ({ team }) =>
    team.bundle(digest, {
      statement: statement({ subject: [{ name: 'registry.test/team/app:2', digest: { sha256: hex } }] }),
    }),
  'over the manifest of the image': ({ team }) => bundleOf(team.hint, { messageSignature: messageOf(team, image) }),
  'over the manifest, without its digest': ({ team }) =>
    bundleOf(team.hint, { messageSignature: { signature: messageOf(team, image).signature } }),
};

describe.each(['filters', 'has no list'] as const)('at a registry that %s, a bundle', (mode) => {
  test.each(Object.entries(refused))('%s does not count, and the reason is told', async (_, [variant, why]) => {
    expect(await judged(mode, variant)).toEqual({ signer: undefined, why });
  });

  test.each(Object.entries(counted))('%s counts', async (_, variant) => {
    expect(await judged(mode, variant)).toMatchObject({ signer: 'team' });
  });

  test.each(Object.keys(refused))('%s is no obstacle to a good one after it', async (name) => {
    const [variant = () => ({})] = refused[name] ?? [];
    expect(await judged(mode, variant, ({ team }) => team.bundle(digest))).toMatchObject({ signer: 'team' });
  });
});

test.each([
  ['p384', 'SHA2_384', 'sha384'],
  ['p521', 'SHA2_512', 'sha512'],
  ['ed25519', 'SHA2_512', 'sha512'],
  ['ec', 'SHA2_384', 'sha384'],
] as const)('a bundle of a key of the kind %s over the %s of the manifest counts', async (kind, algorithm, hash) => {
  const team = makeCosignKey('team', kind);
  const bundle = bundleOf(team.hint, { messageSignature: messageOf(team, image, image, [algorithm, hash]) });
  expect(await judge('filters', [bundleArtifact(digest, bundle)], team)).toMatchObject({ signer: 'team' });
});

describe('a referrer', () => {
  test.each<readonly [string, (artifact: Artifact) => Artifact, string]>([
    ['whose blob is missing', (artifact) => ({ ...artifact, blobs: [] }), 'the registry does not have sha256:'],
    [
      'whose blob is another',
      ({ manifest, blobs }) => ({ manifest, blobs: blobs.map((blob) => ({ ...blob, bytes: Buffer.from('{}') })) }),
      'its content does not have the digest sha256:',
    ],
    [
      'of two layers',
      changed((manifest) => ({ layers: [manifest.layers[0], manifest.layers[0]] })),
      'its manifest has no',
    ],
    ['of no layer', changed(() => ({ layers: [] })), 'its manifest has no layer with a signature'],
    [
      'whose layer is of another type',
      changed(({ layers }) => ({ layers: [{ ...layers[0], mediaType: 'text/plain' }] })),
      'its manifest has no layer with a signature',
    ],
    [
      'whose layer has no digest',
      changed(({ layers }) => ({ layers: [{ ...layers[0], digest: 'sha256:0' }] })),
      'its manifest has no layer with a signature',
    ],
    [
      'of a later version of bundles',
      changed(() => ({ artifactType: bundleType.replace('0.3', '0.4') })),
      `it is of the unknown type "${bundleType.replace('0.3', '0.4')}"`,
    ],
    [
      'of another program',
      changed(() => ({ artifactType: 'application/vnd.cncf.notary.signature' })),
      'it is of the unknown type "application/vnd.cncf.notary.signature"',
    ],
  ])('%s is told, and is not "no signature"', async (_, change, why) => {
    const team = makeCosignKey('team');
    for (const mode of ['filters', 'lists all', 'has no list'] as const) {
      const referrers = [change(bundleArtifact(digest, team.bundle(digest)))];
      const verdict = await judge(mode, referrers, team);
      expect(verdict.signer).toBeUndefined();
      expect(verdict.why).toContain(`a signature of it cannot be read: ${why}`);
    }
  });
});

async function judged(mode: ReferrersMode, ...variants: readonly Variant[]) {
  const keys = { team: makeCosignKey('team'), thief: makeCosignKey('thief') };
  return judge(
    mode,
    variants.map((variant) => bundleArtifact(digest, variant(keys))),
    keys.team,
  );
}

async function judge(mode: ReferrersMode, referrers: readonly Artifact[], { file }: CosignKey) {
  const server = await serveSignatures(rig, `sha256-${hex}`, { mode, referrers, contents: { [digest]: image } });
  const reference = parseImageReference('registry.test/team/app:1');
  const keys = await readVerificationKeys([file]);
  const judgeOf = createSignatureJudge({ reference, digests: [digest], keys, identities: [], annotations: [] });
  const signer = judgeOf.signerIn(await allSignatures(rig.registry().signaturesOf(at(server), digest)));
  return { signer, why: judgeOf.why() };
}

const inToto = 'application/vnd.in-toto+json';

function statement(parts: object): Buffer {
  const usual = { _type: statementType, subject: [{ digest: { sha256: hex } }], predicateType: signed, predicate: {} };
  return Buffer.from(JSON.stringify({ ...usual, ...parts }));
}

/** Of a length that needs one character of padding in base64. */
function padded(): Buffer {
  const text = statement({}).toString();
  return Buffer.from(text + ' '.repeat((5 - (text.length % 3)) % 3));
}

function doubled(field: string): Buffer {
  return Buffer.from(statement({}).toString().replace('{', `{${field}`));
}

function withEnvelope(bundle: object, change: Partial<Envelope> | ((envelope: Envelope) => Partial<Envelope>)): object {
  const { dsseEnvelope } = bundle as { readonly dsseEnvelope: Envelope };
  return {
    ...bundle,
    dsseEnvelope: { ...dsseEnvelope, ...(typeof change === 'function' ? change(dsseEnvelope) : change) },
  };
}

function withSignature(key: CosignKey, change: (sig: string) => string): object {
  return withEnvelope(key.bundle(digest), ({ signatures }) => ({
    signatures: signatures.map(({ sig }) => ({ sig: change(sig) })),
  }));
}

function withSignatures(first: object, second: object): object {
  const { dsseEnvelope } = second as { readonly dsseEnvelope: Envelope };
  return withEnvelope(first, ({ signatures }) => ({ signatures: [...signatures, ...dsseEnvelope.signatures] }));
}

/** The bytes behind the frame's head stay the same: part of the payload is said to be of the type. */
function moved(payload: string): Partial<Envelope> {
  const bytes = Buffer.from(payload, 'base64');
  const part = bytes.subarray(0, 5).toString();
  return { payloadType: `${inToto} ${bytes.length} ${part}`, payload: bytes.subarray(5).toString('base64') };
}

function twice(first: object, second: object, field: string): Buffer {
  const { dsseEnvelope } = second as { readonly dsseEnvelope: Envelope };
  return Buffer.from(`${JSON.stringify(first).slice(0, -1)},"${field}":${JSON.stringify(dsseEnvelope)}}`);
}

function messageOf(key: CosignKey, content: Buffer, claimed = content, [algorithm, hash] = ['SHA2_256', 'sha256']) {
  const digestOf = createHash(hash).update(claimed).digest('base64');
  return { messageDigest: { algorithm, digest: digestOf }, signature: key.signBytes(content).signature };
}

function changed(
  change: (manifest: { readonly layers: readonly object[] }) => object,
): (artifact: Artifact) => Artifact {
  return ({ manifest, blobs }) => {
    const fields = JSON.parse(manifest.bytes.toString()) as { readonly layers: readonly object[] };
    return {
      manifest: blobOf(manifest.mediaType, Buffer.from(JSON.stringify({ ...fields, ...change(fields) }))),
      blobs,
    };
  };
}
