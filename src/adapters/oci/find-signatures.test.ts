import { describe, expect, test } from 'vitest';
import {
  allSignatures,
  type Artifact,
  artifactType,
  blobOf,
  bundleArtifact,
  bundleType,
  indexType,
  makeCosignKey,
  referrersIndex,
  signatureArtifact,
} from '../../../test/support/registry/cosign.ts';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { at, createOciRig, failureOf } from '../../../test/support/registry/oci-rig.ts';
import { serveSignatures, type SignatureServer } from '../../../test/support/registry/signature-server.ts';
import { parseImageReference, type Digest } from '../../domain/image/image-reference.ts';
import { createSignatureJudge, type FoundSignature } from '../../domain/image/signature.ts';
import { readVerificationKeys } from '../process/verification-keys.ts';

const rig = createOciRig();

const digest: Digest = `sha256:${'a'.repeat(64)}`;
const tag = `sha256-${'a'.repeat(64)}`;
const name = 'registry.test/team/app';
const reference = parseImageReference(`${name}:1.0`);

const serve = (given: SignatureServer) => serveSignatures(rig, tag, given);

async function found(server: Awaited<ReturnType<typeof serve>>): Promise<readonly FoundSignature[]> {
  return allSignatures(rig.registry().signaturesOf(at(server), digest));
}

async function verdictOf(signatures: readonly FoundSignature[], ...files: readonly string[]) {
  const keys = await readVerificationKeys(files);
  const judge = createSignatureJudge({ reference, digests: [digest], keys, identities: [], annotations: [] });
  return judge.signerIn(signatures) ?? judge.why();
}

describe.each(['ec', 'p384', 'p521', 'rsa', 'ed25519'] as const)('a signature by a key of the kind %s', (kind) => {
  test('of this digest in this repository is found behind its tag and believed', async () => {
    const key = makeCosignKey('team', kind);
    const server = await serve({ tags: { [`${tag}.sig`]: signatureArtifact([key.signImage(digest, name)]) } });
    expect(await verdictOf(await found(server), makeCosignKey('other').file, key.file)).toBe('team');
  });

  test.each(['filters', 'lists all', 'has no list'] as const)(
    'is found among referrers, of cosign 2 and of cosign 3, at a registry that %s',
    async (mode) => {
      const key = makeCosignKey('team', kind);
      for (const artifact of [
        signatureArtifact([key.signImage(digest, name)], digest),
        bundleArtifact(digest, key.bundle(digest)),
        bundleArtifact(digest, key.bundle(digest), { isDescribed: false }),
      ])
        expect(await verdictOf(await found(await serve({ mode, referrers: [artifact] })), key.file)).toBe('team');
    },
  );

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
      [[key.signBytes(twice(digest))], 'its signature is not for an image'],
      [[{ ...key.signImage(digest, name), signature: 'AAAA' }], 'none of its signatures is of that key'],
      [[{ ...key.signImage(digest, name), signature: '§' }], 'none of its signatures is of that key'],
    ] as const) {
      const tags = signatures.length === 0 ? {} : { [`${tag}.sig`]: signatureArtifact(signatures) };
      expect(await verdictOf(await found(await serve({ tags })), key.file)).toContain(why);
    }
  });

  test('counts beside signatures of others, and beside older ones of its own', async () => {
    const key = makeCosignKey('team', kind);
    const signatures = [
      makeCosignKey('thief', kind).signImage(digest, name),
      key.signImage(`sha256:${'b'.repeat(64)}`, name),
      key.signImage(digest, `${name}:1.0`),
    ];
    const server = await serve({ tags: { [`${tag}.sig`]: signatureArtifact(signatures) } });
    expect(await verdictOf(await found(server), key.file)).toBe('team');
  });

  test('of one byte more or less, or in another form of base64, is none', async () => {
    const key = makeCosignKey('team', kind);
    const good = key.signImage(digest, name);
    const { payload, signature } = good;
    for (const bad of [
      { payload: Buffer.concat([payload, Buffer.from(' ')]) },
      { payload: payload.subarray(1) },
      { signature: `${signature}\n` },
      { signature: ` ${signature}` },
      { signature: signature.replace(/^./, '_') },
    ])
      expect(await verdictOf([{ ...good, ...bad }], key.file)).toBe('none of its signatures is of that key');
  });
});

function twice(signed: string): Buffer {
  const critical = (name_: string) =>
    `"critical":{"identity":{"docker-reference":"${name_}"},"image":{"docker-manifest-digest":"${signed}"},"type":"cosign container image signature"}`;
  return Buffer.from(`{${critical('registry.test/team/other')},${critical(name).replace('critical', 'Critical')}}`);
}

describe('findSignatures()', () => {
  test('finds none in a repository without any, in three questions', async () => {
    const server = await serve({ mode: 'has no list' });
    expect(await found(server)).toEqual([]);
    expect(server.lines()).toEqual([
      `GET /v2/team/app/manifests/${tag}.sig`,
      `GET /v2/team/app/referrers/${digest}?artifactType=${encodeURIComponent(bundleType)}`,
      `GET /v2/team/app/manifests/${tag}`,
    ]);
  });

  test('asks a registry that filters for each type, and for all if there is none', async () => {
    const key = makeCosignKey('team');
    const empty = await serve({});
    expect(await found(empty)).toEqual([]);
    expect(empty.lines().slice(1)).toEqual([
      `GET /v2/team/app/referrers/${digest}?artifactType=${encodeURIComponent(bundleType)}`,
      `GET /v2/team/app/referrers/${digest}?artifactType=${encodeURIComponent(artifactType)}`,
      `GET /v2/team/app/referrers/${digest}`,
    ]);
    const listsAll = await serve({
      mode: 'lists all',
      referrers: [bundleArtifact(digest, key.bundle(digest)), signatureArtifact([key.signImage(digest, name)], digest)],
    });
    expect(await found(listsAll)).toHaveLength(2);
    expect(listsAll.lines().filter((line) => line.includes('/referrers/'))).toHaveLength(1);
    const signed = await serve({ referrers: [bundleArtifact(digest, key.bundle(digest))] });
    await found(signed);
    expect(signed.lines().filter((line) => line.includes('/referrers/'))).toHaveLength(3);
  });

  test('asks for nothing more once its caller has what it needs, and shares what was read', async () => {
    const key = makeCosignKey('team');
    const tags = { [`${tag}.sig`]: signatureArtifact([key.signImage(digest, name)]) };
    const server = await serve({ tags, referrers: [bundleArtifact(digest, key.bundle(digest))] });
    const first = await rig.registry().signaturesOf(at(server), digest);
    expect(first.found).toHaveLength(1);
    expect(server.lines()).toHaveLength(2);
    const [one, other] = await Promise.all([first.next?.(), first.next?.()]);
    expect(await first.next?.()).toBe(one);
    expect(other).toBe(one);
    expect(server.lines()).toHaveLength(5);
  });

  test.each(['filters', 'lists all', 'has no list'] as const)(
    'finds the last of three hundred referrers, on whatever page, at a registry that %s',
    async (mode) => {
      const [key, thief] = [makeCosignKey('team'), makeCosignKey('thief')];
      const others = Array.from({ length: 299 }, (_, n) =>
        bundleArtifact(digest, thief.bundle(digest, { annotations: { n } })),
      );
      const referrers = [...others, bundleArtifact(digest, key.bundle(digest))];
      const server = await serve({ mode, referrers, pageSize: 40 });
      expect(await verdictOf(await found(server), key.file)).toBe('team');
    },
  );

  test('finds the last of three hundred signatures behind the tag, whose payload it reads once', async () => {
    const [key, thief] = [makeCosignKey('team'), makeCosignKey('thief')];
    const others = Array.from({ length: 299 }, () => thief.signImage(digest, name));
    const tags = { [`${tag}.sig`]: signatureArtifact([...others, key.signImage(digest, name)]) };
    const server = await serve({ tags });
    const first = await rig.registry().signaturesOf(at(server), digest);
    expect(first.found.length).toBeLessThan(20);
    expect(await verdictOf(await allSignatures(Promise.resolve(first)), key.file)).toBe('team');
    expect(server.lines().filter((line) => line.includes('/blobs/'))).toHaveLength(1);
  });

  test('does not read attestations, and reads what is said to be a signature first', async () => {
    const key = makeCosignKey('team');
    const package_ = bundleArtifact(digest, key.bundle(digest));
    const kinds = 'https://sigstore.dev/cosign/sign/v1';
    const bytes = Buffer.from(package_.manifest.bytes.toString().replace(kinds, 'https://spdx.dev/Document'));
    const attestation: Artifact = { ...package_, manifest: { ...package_.manifest, bytes, digest } };
    const unsaid = bundleArtifact(digest, key.bundle(digest, { annotations: { unsaid: '' } }), { isDescribed: false });
    const server = await serve({ referrers: [attestation, unsaid, package_] });
    expect((await found(server)).map(({ kind }) => kind).sort()).toEqual(['attestation', 'statement', 'statement']);
    const manifests = server.lines().filter((line) => /manifests\/sha256:/.test(line));
    expect(manifests).toEqual([
      `GET /v2/team/app/manifests/${package_.manifest.digest}`,
      `GET /v2/team/app/manifests/${unsaid.manifest.digest}`,
    ]);
  });

  test('ends at a limit of pages, bytes or time, which is told', async () => {
    const key = makeCosignKey('team');
    const endless = await rig.serve(({ url }) => {
      if (!url.includes('/referrers/')) return { status: 404 };
      const page = Number(new URL(url, 'http://host').searchParams.get('page'));
      const headers = { link: `<${url.split('?')[0]}?page=${page + 1}>; rel="next"` };
      return { headers, body: JSON.stringify({ manifests: [{ digest, artifactType: 'text/sbom' }] }) };
    });
    const of = 'it has no signature; not all of its signatures were read: ';
    expect(await verdictOf(await found(endless), key.file)).toBe(`${of}there are more than 50 pages of them`);
    expect(endless.seen.length).toBeLessThan(60);

    const large = Array.from({ length: 60 }, (_, n) =>
      bundleArtifact(digest, { ...key.bundle(digest), mediaType: 'x', padding: `${n}`.repeat(100_000) }),
    );
    expect(await verdictOf(await found(await serve({ referrers: large })), key.file)).toMatch(
      /^a signature of it cannot be read: .*; not all of its signatures were read: the first \d+ have more than 8 MiB$/,
    );

    const clock = createFakeClock({ auto: true });
    const server = await serve({ referrers: large.slice(0, 20) });
    let part = await rig.registry({ clock }).signaturesOf(at(server), digest);
    await clock.advance(31_000);
    while (part.next !== undefined) part = await part.next();
    expect(part.found).toEqual([{ kind: 'cut', why: 'the first 8 took more than 30s' }]);
  });

  test.each(['/referrers/', `/manifests/${tag}`])(
    'a list at %s that would take long to parse is told',
    async (path) => {
      const body = `{"manifests":[${'{},'.repeat(100_000)}{}]}`;
      const server = await rig.serve(({ url }) =>
        url.includes(path) && !url.endsWith('.sig') ? { body } : { status: 404 },
      );
      expect(await verdictOf(await found(server), makeCosignKey('team').file)).toBe(
        'it has no signature; not all of its signatures were read: the list of referrers has very many entries',
      );
    },
  );

  test('a list that is too long, or continues elsewhere, hides neither what it names nor what others name', async () => {
    const key = makeCosignKey('team');
    const artifact = bundleArtifact(digest, key.bundle(digest));
    const bodies = new Map([artifact.manifest, ...artifact.blobs].map((one) => [one.digest, one.bytes]));
    const links = ['<http://internal:5000/v2/x?n=1>', `<http://[/>`, '</v2/other/list?n=1>'];
    const headersOf = (link: string) => ({ link: `${link}; rel="next"`, 'content-type': indexType });
    const long = { body: ' '.repeat(5 * 1024 * 1024) };
    const empty = '{"manifests":[]}';
    const noSignature = 'it has no signature; not all of its signatures were read: ';
    for (const [first, other, verdict] of [
      ...links.map(
        (link) =>
          [{ headers: headersOf(link), body: referrersIndex([artifact]).bytes }, { body: empty }, 'team'] as const,
      ),
      ...links.map(
        (link) =>
          [{ headers: headersOf(link), body: empty }, { body: empty }, `${noSignature}its list continues`] as const,
      ),
      [
        { headers: headersOf('<http://internal:5000/>'), body: empty },
        { body: referrersIndex([artifact]).bytes },
        'team',
      ],
      [long, { body: referrersIndex([artifact]).bytes }, 'team'],
      [long, { body: empty }, `${noSignature}the list of referrers cannot be read: it answered with more than`],
    ] as const) {
      const server = await rig.serve(({ url }) => {
        const last = url.split('/').at(-1) ?? '';
        const body = bodies.get(last);
        if (!url.includes('/referrers/')) return body === undefined ? { status: 404 } : { body };
        return url.includes(encodeURIComponent(bundleType)) ? first : other;
      });
      expect(await verdictOf(await found(server), key.file)).toContain(verdict);
    }
  });

  test.each(['', 'application/vnd.oci.empty.v1+json', undefined])(
    'reads a referrer listed with the artifact type %j last, which is nothing unless it has a signature',
    async (listedAs) => {
      const [key, thief] = [makeCosignKey('team'), makeCosignKey('thief')];
      const typeless = (artifact: Artifact, layers?: readonly object[]): Artifact => {
        const fields = JSON.parse(artifact.manifest.bytes.toString()) as Record<string, unknown>;
        const changed = { ...fields, artifactType: listedAs, ...(layers && { layers }) };
        return { ...artifact, manifest: blobOf(artifact.manifest.mediaType, Buffer.from(JSON.stringify(changed))) };
      };
      const signed = typeless(bundleArtifact(digest, key.bundle(digest), { isDescribed: false }));
      const packages = typeless(signed, [{ mediaType: 'text/spdx', digest, size: 1 }]);
      const other = bundleArtifact(digest, thief.bundle(digest), { isDescribed: false });
      for (const mode of ['filters', 'lists all', 'has no list'] as const) {
        const server = await serve({ mode, referrers: [signed, packages, other] });
        expect(await verdictOf(await found(server), key.file)).toBe('team');
        const lines = server.lines().filter((line) => /manifests\/sha256:/.test(line));
        expect(lines[0]).toContain(other.manifest.digest);
        expect(await verdictOf(await found(await serve({ mode, referrers: [packages] })), key.file)).toBe(
          'it has no signature',
        );
      }
    },
  );

  test.each(['application/json', undefined])(
    'a list of the content type %s is believed, and so is the tag in its place',
    async (type) => {
      const key = makeCosignKey('team');
      const artifact = bundleArtifact(digest, key.bundle(digest));
      const bodies = new Map([artifact.manifest, ...artifact.blobs].map((one) => [one.digest, one.bytes]));
      for (const place of ['list', 'tag']) {
        const index = (at: string) => (at === place ? referrersIndex([artifact]).bytes : '{"manifests":[]}');
        const server = await rig.serve(({ url }) => {
          if (url.includes('/referrers/'))
            return { headers: type === undefined ? {} : { 'content-type': type }, body: index('list') };
          const last = url.split('/').at(-1) ?? '';
          const body = last === tag ? index('tag') : bodies.get(last);
          return body === undefined ? { status: 404 } : { body };
        });
        expect(await verdictOf(await found(server), key.file)).toBe('team');
      }
    },
  );

  test('a list that breaks off is told, and one that is none is looked for behind the tag', async () => {
    const key = makeCosignKey('team');
    const broken = await rig.serve(({ url }) => {
      if (url.includes('page=2')) return { status: 400 };
      if (!url.includes('/referrers/')) return { status: 404 };
      return { headers: { link: `<${url.split('?')[0]}?page=2>; rel="next"` }, body: '{"manifests":[]}' };
    });
    expect(await verdictOf(await found(broken), key.file)).toContain('the list of referrers ended with an error');
    const artifact = bundleArtifact(digest, key.bundle(digest));
    const bodies = new Map([artifact.manifest, ...artifact.blobs].map((one) => [one.digest, one.bytes]));
    for (const none of [{ body: '<html>' }, { body: '{}' }, { status: 405 }, { status: 501 }]) {
      const page = await rig.serve(({ url }) => {
        if (url.includes('/referrers/')) return none;
        const last = url.split('/').at(-1) ?? '';
        const body = last === tag ? referrersIndex([artifact]).bytes : bodies.get(last);
        return body === undefined ? { status: 404 } : { body };
      });
      expect(await verdictOf(await found(page), key.file)).toBe('team');
    }
  });

  test('a manifest that is none, or has no signature, is told', async () => {
    const many = `{"layers":[${'{},'.repeat(100_000)}{}]}`;
    for (const bytes of ['', '<html>', '[]', '{"layers":[1,{"mediaType":1}]}', '{"layers":"x"}', many]) {
      const manifest = { mediaType: '', digest: 'none', bytes: Buffer.from(bytes) };
      const signatures = await found(await serve({ tags: { [`${tag}.sig`]: { manifest, blobs: [] } } }));
      expect(signatures).toEqual([{ kind: 'unreadable', why: expect.stringContaining('its manifest') as unknown }]);
    }
  });

  test('a payload that is not the one it names is told', async () => {
    const artifact = signatureArtifact([makeCosignKey('team').signImage(digest, name)]);
    const forged = artifact.blobs.map((blob) => ({ ...blob, bytes: Buffer.from('forged') }));
    const server = await serve({ tags: { [`${tag}.sig`]: { ...artifact, blobs: forged } } });
    expect(await found(server)).toEqual([
      { kind: 'unreadable', why: expect.stringContaining('does not have the digest') as unknown },
    ]);
  });

  test('no answer is a failure, never an image without a signature', async () => {
    const key = makeCosignKey('team');
    const artifact = bundleArtifact(digest, key.bundle(digest));
    const index = referrersIndex([artifact]).bytes;
    for (const broken of ['.sig', 'referrers', artifact.manifest.digest]) {
      const server = await rig.serve(({ url }) => {
        if (url.includes(broken)) return { status: 503 };
        return url.includes('/referrers/') ? { body: index } : { status: 404 };
      });
      const failure = await failureOf(allSignatures(rig.registry().signaturesOf(at(server), digest)));
      expect(failure).toMatchObject({ code: 'registry-unreachable' });
      expect(failure.message).toContain('Cannot find the signatures of');
    }
  });
});
