import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allSignatures } from '../../../test/support/registry/cosign.ts';
import { at, createOciRig } from '../../../test/support/registry/oci-rig.ts';
import { isDigest, parseImageReference } from '../../domain/image/image-reference.ts';
import { createSignatureJudge, type SignatureQuestion } from '../../domain/image/signature.ts';
import { readVerificationKeys } from '../process/verification-keys.ts';

const rig = createOciRig();

const folder = new URL('../../../test/fixtures/cosign', import.meta.url).pathname;

type Answer = 'accepts' | 'refuses';

type Case = {
  readonly repository: string;
  readonly signedAs: string;
  readonly subject: string;
  readonly key: string;
  readonly registry: 'zot' | 'distribution3';
  readonly cosign: Readonly<Record<'2.6.5' | '3.1.3', Answer>>;
  readonly tags: Readonly<Record<string, string>>;
  readonly manifests: Readonly<Record<string, { readonly mediaType: string; readonly body: string }>>;
  readonly referrers: Readonly<Record<string, string>>;
  readonly blobs: Readonly<Record<string, string>>;
};

/** The answers of `cosign verify` in both versions, Upkeep's answer, and the reason for each difference. */
const cases: Readonly<Record<string, Row>> = {
  unsigned: { cosign: 'neither', why: 'it has no signature' },
  'cosign2-classic': { cosign: 'both' },
  'cosign2-classic-annotated': { cosign: 'both' },
  'cosign2-oci11': { cosign: 'neither', signer: 'team', difference: 'cosign finds it with an experimental flag only' },
  'cosign2-attestation-classic': { cosign: 'neither', why: 'it has no signature' },
  'cosign3-classic': { cosign: 'both' },
  'cosign3-bundle': { cosign: '3' },
  'cosign3-bundle-annotated': { cosign: '3' },
  'cosign3-bundle-two-keys': { cosign: '3' },
  'cosign3-bundle-other-key': { cosign: 'neither', why: 'none of its signatures is of that key' },
  'cosign3-attestation-bundle': {
    cosign: '3',
    why: 'it has no signature, but an attestation of the kind "https://spdx.dev/Document"',
    difference: 'a list of packages is no signature',
  },
  'cosign3-attestation-and-signature': { cosign: '3' },
  'index-only-cosign3-bundle': { cosign: '3' },
  'index-recursive-cosign3-bundle': { cosign: '3' },
  'identity-other-name-cosign3': {
    cosign: 'both',
    why: 'its signature is of another repository, "vendor.example/app"',
    difference: 'a signature under another name needs --verify-identity',
  },
  'rsa2048-cosign2-classic': { cosign: 'both', signer: 'rsa2048' },
  'rsa2048-cosign3-bundle': { cosign: '3', signer: 'rsa2048' },
  'rsa4096-cosign3-bundle': { cosign: '3', signer: 'rsa4096' },
  'p384-cosign2-classic': { cosign: 'neither', signer: 'p384', difference: 'cosign verifies with SHA-256 only' },
  'p384-cosign3-bundle': { cosign: 'neither', signer: 'p384', difference: 'cosign verifies with SHA-256 only' },
  'ed25519-cosign2-classic': {
    cosign: 'neither',
    signer: 'ed',
    difference: 'cosign signs Ed25519ph and verifies Ed25519',
  },
  'ed25519-cosign3-bundle': {
    cosign: 'neither',
    signer: 'ed',
    difference: 'cosign signs Ed25519ph and verifies Ed25519',
  },
};

type Row = {
  readonly cosign: 'both' | '3' | 'neither';
  /** The key that Upkeep names; `team` where cosign accepts and no reason is given. */
  readonly signer?: string;
  /** Upkeep's reason for refusing. */
  readonly why?: string;
  /** Why the answer is not that of cosign 3. */
  readonly difference?: string;
};

const files = readdirSync(folder).filter((name) => name.endsWith('.json'));

describe.each(['zot', 'distribution3'])('of the images that cosign has signed in %s', (registry) => {
  test('each has its row', () => {
    const named = files
      .filter((name) => name.startsWith(`${registry}-`))
      .map((name) => name.slice(registry.length + 1, -5));
    expect(named.sort()).toEqual(Object.keys(cases).sort());
    expect(files).toHaveLength(44);
  });

  test.each(Object.entries(cases))(
    '%s is judged as wanted',
    async (name, { cosign, signer = 'team', why, difference }) => {
      const given = read(`${registry}-${name}`);
      const accepted = (isAccepted: boolean) => (isAccepted ? 'accepts' : 'refuses');
      expect(given.cosign).toEqual({ '2.6.5': accepted(cosign === 'both'), '3.1.3': accepted(cosign !== 'neither') });
      const isAccepted = why === undefined;
      expect(difference !== undefined).toBe(isAccepted !== (cosign !== 'neither'));
      expect(await judged(given)).toEqual(isAccepted ? { signer } : { why });
    },
  );
});

test.each(['zot', 'distribution3'])(
  'the signature under another name counts where it is allowed, in %s',
  async (registry) => {
    const given = read(`${registry}-identity-other-name-cosign3`);
    const own = given.signedAs;
    for (const identity of [
      { repository: undefined, name: 'vendor.example/app' },
      { repository: own, name: 'vendor.example/app' },
    ])
      expect(await judged(given, { identities: [identity] })).toEqual({ signer: 'team' });
    for (const identity of [
      { repository: undefined, name: 'vendor.example/app2' },
      { repository: `${own}2`, name: 'vendor.example/app' },
      { repository: own.replace('identity', ''), name: 'vendor.example/' },
      { repository: own.slice(0, own.lastIndexOf('/') + 1), name: 'vendor.example/' },
    ])
      expect(await judged(given, { identities: [identity] })).toEqual({
        why: cases['identity-other-name-cosign3']?.why,
      });
  },
);

test.each(['zot', 'distribution3'])(
  'the annotation env=prod is found in signatures of both kinds, in %s',
  async (registry) => {
    const prod = { annotations: [['env', 'prod']] } as const;
    for (const name of ['cosign2-classic-annotated', 'cosign3-bundle-annotated']) {
      const given = read(`${registry}-${name}`);
      expect(await judged(given, prod)).toEqual({ signer: 'team' });
      for (const annotations of [
        [['env', 'test']],
        [['Env', 'prod']],
        [
          ['env', 'prod'],
          ['team', 'x'],
        ],
      ] as const)
        expect(await judged(given, { annotations })).toEqual({
          why: `its signature has no annotation "${annotations.at(-1)?.join('=')}"`,
        });
    }
    for (const name of ['cosign2-classic', 'cosign3-bundle', 'cosign2-oci11'])
      expect(await judged(read(`${registry}-${name}`), prod)).toEqual({
        why: 'its signature has no annotation "env=prod"',
      });
  },
);

function read(name: string): Case {
  return JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as Case;
}

type Rules = Partial<Pick<SignatureQuestion, 'identities' | 'annotations'>>;

async function judged(
  given: Case,
  { identities = [], annotations = [] }: Rules = {},
): Promise<{ readonly signer: string } | { readonly why: string }> {
  const server = await rig.serve(({ url }) => answer(given, new URL(url, 'http://registry.test')));
  if (!isDigest(given.subject)) throw new Error(given.subject);
  const judge = createSignatureJudge({
    reference: parseImageReference(`${given.signedAs}:v1`),
    digests: [given.subject],
    keys: await readVerificationKeys([join(folder, given.key)]),
    identities,
    annotations,
  });
  const found = await allSignatures(rig.registry().signaturesOf(at(server, `${given.repository}:v1`), given.subject));
  const signer = judge.signerIn(found);
  return signer === undefined ? { why: judge.why() } : { signer };
}

function answer({ repository, registry, tags, manifests, referrers, blobs }: Case, url: URL): object {
  const missing = { status: 404, body: '{"errors":[{"code":"NOT_FOUND"}]}' };
  const prefix = `/v2/${repository}/`;
  const [kind, name = ''] = url.pathname.slice(prefix.length).split('/');
  if (!url.pathname.startsWith(prefix)) return missing;
  if (kind === 'manifests') {
    const found = manifests[tags[name] ?? name];
    return found === undefined ? missing : { body: found.body, headers: { 'content-type': found.mediaType } };
  }
  if (kind === 'blobs') return blobs[name] === undefined ? missing : { body: Buffer.from(blobs[name], 'base64') };
  if (registry !== 'zot') return missing;
  const index = JSON.parse(referrers[name] ?? '{"schemaVersion":2,"manifests":[]}') as {
    readonly manifests: readonly { readonly artifactType: string }[];
  };
  const type = url.searchParams.get('artifactType');
  const listed = index.manifests.filter(({ artifactType }) => type === null || artifactType === type);
  const headers = type === null ? {} : { 'oci-filters-applied': 'artifactType' };
  return { headers, body: JSON.stringify({ ...index, manifests: listed }) };
}
