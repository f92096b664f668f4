import { describe, expect, test } from 'vitest';
import { artifactType, makeCosignKey, signatureArtifact } from '../../../../test/support/registry/cosign.ts';
import { at, createOciRig, failureOf } from '../../../../test/support/registry/oci-rig.ts';
import type { Digest } from '../../../domain/reference/digest.ts';
import { parseImageReference } from '../../../domain/reference/image-reference.ts';
import { judgeSignatures, type FoundSignature } from '../../../domain/signature/signature.ts';
import { readVerificationKeys } from '../../process/verification-keys.ts';

const rig = createOciRig();

const digest: Digest = `sha256:${'a'.repeat(64)}`;
const tag = `sha256-${'a'.repeat(64)}`;
const name = 'registry.test/team/app';
const reference = parseImageReference(`${name}:1.0`);

/** A repository with these artifacts by tag or digest, and the list of referrers of the image. */
function serve(artifacts: Readonly<Record<string, ReturnType<typeof signatureArtifact>>>, referrers?: object) {
  const replies = new Map<string, string | Buffer>();
  for (const [key, { manifest, blobs }] of Object.entries(artifacts)) {
    for (const each of [key, manifest.digest]) replies.set(`/v2/team/app/manifests/${each}`, manifest.bytes);
    for (const blob of blobs) replies.set(`/v2/team/app/blobs/${blob.digest}`, blob.bytes);
  }
  return rig.serve(({ url }) => {
    if (url.startsWith('/v2/team/app/referrers/') && referrers !== undefined)
      return { body: JSON.stringify(referrers) };
    const body = replies.get(url);
    return body === undefined ? { status: 404 } : { body };
  });
}

async function found(server: Awaited<ReturnType<typeof serve>>): Promise<readonly FoundSignature[]> {
  return rig.registry().signaturesOf(at(server), digest);
}

describe.each(['ec', 'ed25519'] as const)('a signature by a key of the kind %s', (kind) => {
  const verdictOf = (signatures: readonly FoundSignature[], ...files: readonly string[]) =>
    judgeSignatures({ reference, digests: [digest], found: signatures, keys: readVerificationKeys(files) });

  test('of this digest in this repository is found behind its tag and believed', async () => {
    const key = makeCosignKey('team', kind);
    const server = await serve({ [`${tag}.sig`]: signatureArtifact([key.signImage(digest, name)]) });
    expect(verdictOf(await found(server), makeCosignKey('other').file, key.file)).toEqual({
      kind: 'signed',
      key: 'team',
    });
  });

  test('is found among referrers, and behind the tag that stands in for them', async () => {
    const key = makeCosignKey('team', kind);
    const artifact = signatureArtifact([key.signImage(digest, name)], digest);
    const entry = { mediaType: artifact.manifest.mediaType, digest: artifact.manifest.digest, size: 1, artifactType };
    const index = { schemaVersion: 2, manifests: [{ ...entry, artifactType: 'text/other' }, entry] };
    const listed = await serve({ x: artifact }, index);
    expect(verdictOf(await found(listed), key.file).kind).toBe('signed');
    const old = await serve({
      x: artifact,
      [tag]: { manifest: { mediaType: '', digest: 'none', bytes: Buffer.from(JSON.stringify(index)) }, blobs: [] },
    });
    expect(verdictOf(await found(old), key.file).kind).toBe('signed');
  });

  test('of another key, digest or repository is not believed, and neither is none', async () => {
    const key = makeCosignKey('team', kind);
    const other: Digest = `sha256:${'b'.repeat(64)}`;
    for (const [signatures, why] of [
      [[], 'it has no signature'],
      [[makeCosignKey('thief', kind).signImage(digest, name)], 'none of its signatures is of that key'],
      [[key.signImage(other, name)], `its signature is of another digest, ${other}`],
      [
        [key.signImage(digest, 'registry.test/team/other')],
        'its signature is of another repository, "registry.test/team/other"',
      ],
      [[key.signImage(digest, 'elsewhere.test/team/app')], 'its signature is of another repository'],
      [[key.signImage(digest, '')], 'its signature names no repository'],
      [[key.signImage('latest', name)], 'its signature names no digest'],
      [[key.signBytes(Buffer.from('{"critical":{}}'))], 'its signature is not for an image'],
      [[key.signBytes(Buffer.from([0xff, 0xfe]))], 'its signature is not for an image'],
      [[{ ...key.signImage(digest, name), signature: 'AAAA' }], 'none of its signatures is of that key'],
      [[{ ...key.signImage(digest, name), signature: '§' }], 'none of its signatures is of that key'],
    ] as const) {
      const server = await serve({ [`${tag}.sig`]: signatureArtifact(signatures) });
      const verdict = verdictOf(await found(server), key.file);
      expect(verdict).toMatchObject({
        kind: 'unsigned',
        why: expect.stringContaining(why) as unknown,
      });
    }
  });

  test('counts beside signatures of others, and beside older ones of its own', async () => {
    const key = makeCosignKey('team', kind);
    const signatures = [
      makeCosignKey('thief', kind).signImage(digest, name),
      key.signImage(`sha256:${'b'.repeat(64)}`, name),
      key.signImage(digest, `${name}:1.0`),
    ];
    const server = await serve({ [`${tag}.sig`]: signatureArtifact(signatures) });
    expect(verdictOf(await found(server), key.file)).toEqual({ kind: 'signed', key: 'team' });
  });

  test('of one byte more or less is none', () => {
    const key = makeCosignKey('team', kind);
    const { payload, signature } = key.signImage(digest, name);
    const changed = Buffer.concat([payload, Buffer.from(' ')]);
    expect(verdictOf([{ payload: changed, signature }], key.file).kind).toBe('unsigned');
    expect(verdictOf([{ payload: payload.subarray(1), signature }], key.file).kind).toBe('unsigned');
  });
});

describe('findSignatures()', () => {
  test('finds none in a repository without any, in three questions', async () => {
    const server = await serve({});
    expect(await found(server)).toEqual([]);
    expect(server.lines()).toEqual([
      `GET /v2/team/app/manifests/${tag}.sig`,
      `GET /v2/team/app/referrers/${digest}?artifactType=${encodeURIComponent(artifactType)}`,
      `GET /v2/team/app/manifests/${tag}`,
    ]);
  });

  test('is among referrers on a later page, and pages without end have an end', async () => {
    const key = makeCosignKey('team');
    const { manifest, blobs } = signatureArtifact([key.signImage(digest, name)], digest);
    const bodies = new Map([manifest, ...blobs].map((one) => [one.digest, one.bytes]));
    const others = Array.from({ length: 100 }, () => ({ digest, artifactType: 'text/sbom' }));
    const serveWith = (last: number) =>
      rig.serve(({ url }) => {
        if (!url.includes('/referrers/')) {
          const body = bodies.get(url.split('/').at(-1) ?? '');
          return body === undefined ? { status: 404 } : { body };
        }
        const page = Number(new URL(url, 'http://host').searchParams.get('page'));
        const manifests = page === last ? [{ digest: manifest.digest, artifactType }] : others;
        const headers = { link: `<${url.split('?')[0]}?page=${page + 1}>; rel="next"` };
        return { headers: page === last ? {} : headers, body: JSON.stringify({ manifests }) };
      });
    expect(await found(await serveWith(3))).toHaveLength(1);
    const endless = await serveWith(-1);
    expect(await found(endless)).toEqual([]);
    expect(endless.seen.length).toBeLessThan(20);
  });

  test('takes at most twenty, and no payload that is not the one it names', async () => {
    const key = makeCosignKey('team');
    const many = Array.from({ length: 50 }, (_, n) => key.signImage(digest, `${name}${n}`));
    const artifact = signatureArtifact(many);
    expect(await found(await serve({ [`${tag}.sig`]: artifact }))).toHaveLength(20);
    const forged = artifact.blobs.map((blob) => ({ ...blob, bytes: Buffer.from('forged') }));
    expect(await found(await serve({ [`${tag}.sig`]: { ...artifact, blobs: forged } }))).toEqual([]);
  });

  test('a manifest that is none, or an image, has none', async () => {
    for (const bytes of ['', '<html>', '[]', '{"layers":[1,{"mediaType":1}]}', '{"layers":"x"}']) {
      const manifest = { mediaType: '', digest: 'none', bytes: Buffer.from(bytes) };
      expect(await found(await serve({ [`${tag}.sig`]: { manifest, blobs: [] } }))).toEqual([]);
    }
  });

  test('no answer is a failure, never an image without a signature', async () => {
    for (const broken of ['.sig', 'referrers']) {
      const server = await rig.serve(({ url }) => ({ status: url.includes(broken) ? 503 : 404 }));
      const failure = await failureOf(rig.registry().signaturesOf(at(server), digest));
      expect(failure).toMatchObject({ code: 'registry-unreachable' });
      expect(failure.message).toContain('Cannot find the signatures of');
    }
  });
});
