import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Digest, isDigest } from '../../../src/domain/image/image-reference.ts';
import { webServer } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { pushArtifact, pushIndex } from '../../lab/registry/push.ts';
import { type FrontCall, type Said, startFront } from '../../lab/registry/registry-front.ts';
import {
  type Artifact,
  bundleArtifact,
  type CosignKey,
  makeCosignKey,
  referrersIndex,
  signatureArtifact,
} from '../../support/registry/cosign.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';
import { tagsScene } from './scene.ts';

const minor = { 'upkeep.policy': 'minor' };

describeInLab('signed images', (lab) => {
  afterEach(() => lab.engine.clear());

  async function signedScene(labels: Readonly<Record<string, string>> = minor, host = lab.registry.host) {
    const scene = tagsScene(lab, host);
    const keys = { team: makeCosignKey('team'), ops: makeCosignKey('ops', 'ed25519') };
    await scene.push('1.0');
    const { digest } = await scene.push('1.1');
    await scene.run('1.0', labels);
    const options = ['--verify-key', keys.team.file, '--verify-key', keys.ops.file];
    /** Signs like `cosign sign`, in the repository of `at`. */
    const sign = async (key: CosignKey, { of = digest, at = digest, name = scene.image, annotations = {} } = {}) => {
      const artifact = signatureArtifact([key.signImage(of, name, annotations)]);
      await pushArtifact(lab.registry, scene.repository, `${at.replace(':', '-')}.sig`, artifact);
    };
    /** Attaches like cosign 3, at a registry without the referrers API. */
    const refer = async (artifacts: readonly Artifact[], to = digest) => {
      for (const [at, artifact] of artifacts.entries())
        await pushArtifact(lab.registry, scene.repository, `referrer-${at}`, artifact);
      const list = { manifest: referrersIndex(artifacts), blobs: [] };
      await pushArtifact(lab.registry, scene.repository, to.replace(':', '-'), list);
    };
    return { ...scene, keys, options, sign, refer, digest };
  }

  test('only what a key of --verify-key has signed is applied, and the label names the key', async () => {
    const { check, update, sign, keys, options, tag } = await signedScene({ ...minor, 'upkeep.verify': 'team' });
    const unsigned = await check(...options);
    expect(unsigned).toMatchObject({ status: 'held', hold: 'unsigned', candidate_kind: 'minor' });
    expect(unsigned.reason).toContain('not signed by "team": it has no signature');
    await sign(keys.ops);
    expect((await check(...options)).reason).toContain('none of its signatures is of that key');
    expect(await check(...options, '--verify-with', 'off')).toMatchObject({ status: 'held' });
    expect(await update(...options)).toMatchObject({ outcome: 'skipped' });
    expect(await tag()).toBe('1.0');
    await sign(keys.team);
    expect(await update(...options)).toMatchObject({ outcome: 'updated' });
    expect(await tag()).toBe('1.1');
    expect(await update(...options)).toMatchObject({ outcome: 'fresh' });
  });

  test('without a label --verify-with names the keys, or none', async () => {
    const { check, sign, keys, options } = await signedScene();
    await sign(keys.ops);
    expect(await check(...options)).toMatchObject({ status: 'stale' });
    expect(await check(...options, '--verify-with', 'team')).toMatchObject({ status: 'held', hold: 'unsigned' });
    expect(await check(...options, '--verify-with', 'off')).toMatchObject({ status: 'stale' });
    expect(await check('--verify-with', 'team')).toMatchObject({ status: 'held', hold: 'unsigned' });
    expect(await check()).toMatchObject({ status: 'stale' });
  });

  test('a person approves the version that the check finds, not a higher unsigned one', async () => {
    const { check, sign, keys, options, push } = await signedScene({ ...minor, 'upkeep.approve': 'true' });
    await sign(keys.team);
    await push('1.2');
    const state = ['--state-dir', join(lab.dir, 'signed-decisions')];
    expect(await check(...options, ...state)).toMatchObject({ status: 'held', hold: 'approval' });
    const approved = await runUpkeep(['approve', 'app', ...options, ...state], { socket: lab.engine.socket });
    expect(approved).toMatchObject({ code: 0, stdout: expect.stringMatching(/^app: approved 1\.0 → 1\.1$/m) });
    expect(await check(...options, ...state)).toMatchObject({ status: 'stale' });
  });

  test('a signature of another digest, or replayed from another repository, or stripped, proves nothing', async () => {
    const { check, sign, keys, options, push, image } = await signedScene();
    const { digest: other } = await push('other');
    await sign(keys.team, { of: other });
    expect((await check(...options)).reason).toContain('its signature is of another digest');
    await sign(keys.team, { name: `${image}-fork` });
    expect((await check(...options)).reason).toContain('its signature is of another repository');
    await sign(keys.team);
    expect(await check(...options)).toMatchObject({ status: 'stale' });
    await push('1.1', webServer('1.1 again'));
    expect((await check(...options)).reason).toContain('it has no signature');
  });

  test('a signature that refers to the image is found, with the tag of registries without the referrers API', async () => {
    const { check, update, keys, options, digest, image, refer } = await signedScene();
    expect((await check(...options)).reason).toContain('it has no signature');
    await refer([signatureArtifact([keys.team.signImage(digest, image)], digestOf(digest))]);
    expect(await check(...options)).toMatchObject({ status: 'stale' });
    expect(await update(...options)).toMatchObject({ outcome: 'updated' });
  });

  test('a bundle of cosign 3 is believed among many others; what is none, or is broken, is told', async () => {
    const { check, update, keys, options, digest, refer, tag } = await signedScene();
    const to = digestOf(digest);
    const { team } = keys;
    const thief = makeCosignKey('thief');
    for (const [bundle, why] of [
      [thief.bundle(digest), 'none of its signatures is of that key'],
      [team.bundle(`sha256:${'b'.repeat(64)}`), 'its signature is of another digest'],
      [
        team.bundle(digest, { predicateType: 'https://spdx.dev/Document' }),
        'it has no signature, but an attestation of the kind "https://spdx.dev/Document"',
      ],
      [Buffer.from('{'), 'a signature of it cannot be read: its bundle is not JSON'],
    ] as const) {
      await refer([bundleArtifact(to, bundle)]);
      const held = await check(...options);
      expect(held).toMatchObject({ status: 'held', hold: 'unsigned' });
      expect(held.reason).toContain(why);
    }
    const others = Array.from({ length: 30 }, (_, n) =>
      bundleArtifact(to, thief.bundle(digest, { annotations: { n } })),
    );
    await refer([...others, bundleArtifact(to, team.bundle(digest))]);
    expect(await update(...options)).toMatchObject({ outcome: 'updated' });
    expect(await tag()).toBe('1.1');
  });

  test('a registry that lists referrers is asked by type, page by page, and only where a key is given', async () => {
    let referrers: readonly Artifact[] = [];
    const pageSize = 25;
    const says = ({ path }: FrontCall): Said => {
      const { pathname, searchParams } = new URL(path, 'http://registry.test');
      if (!pathname.includes('/referrers/')) return {};
      const index = JSON.parse(referrersIndex(referrers).bytes.toString()) as {
        readonly manifests: readonly Referrer[];
      };
      const listed = index.manifests.filter(({ artifactType }) => artifactType === searchParams.get('artifactType'));
      const from = Number(searchParams.get('from'));
      searchParams.set('from', String(from + pageSize));
      const link = `<${pathname}?${searchParams.toString()}>; rel="next"`;
      const body = JSON.stringify({ ...index, manifests: listed.slice(from, from + pageSize) });
      const headers = { 'oci-filters-applied': 'artifactType', ...(from + pageSize < listed.length && { link }) };
      return { headers, refusal: { status: 200, body } };
    };
    const front = await startFront({ upstreams: {}, otherwise: lab.registry.url, says });
    try {
      const { check, update, keys, options, digest, refer } = await signedScene(minor, `127.0.0.1:${front.port}`);
      const asked = () => front.calls.filter(({ path }) => /\/referrers\/|sha256-/.test(path)).map(({ path }) => path);
      expect(await check()).toMatchObject({ status: 'stale' });
      expect(asked()).toEqual([]);
      const to = digestOf(digest);
      const thief = makeCosignKey('thief');
      const others = Array.from({ length: 60 }, (_, n) =>
        bundleArtifact(to, thief.bundle(digest, { annotations: { n } })),
      );
      referrers = [...others, bundleArtifact(to, keys.team.bundle(digest))];
      await refer(referrers);
      expect(await update(...options)).toMatchObject({ outcome: 'updated' });
      expect(asked().filter((path) => path.includes('/referrers/'))).toHaveLength(3);
      expect(asked().some((path) => path.endsWith(digest.replace(':', '-')))).toBe(false);
    } finally {
      await front.close();
    }
  });

  test.each(['rsa', 'p384', 'p521'] as const)(
    'a key of the kind %s signs as cosign does, in either form',
    async (kind) => {
      const { check, sign, refer, digest } = await signedScene();
      const key = makeCosignKey('strong', kind);
      expect((await check('--verify-key', key.file)).reason).toContain('it has no signature');
      await refer([bundleArtifact(digestOf(digest), key.bundle(digest))]);
      expect(await check('--verify-key', key.file)).toMatchObject({ status: 'stale' });
      await refer([]);
      await sign(key);
      expect(await check('--verify-key', key.file)).toMatchObject({ status: 'stale' });
    },
  );

  test('a signature under another name counts where an option or a label allows it', async () => {
    const name = 'ghcr.test/team/app';
    const { check, update, sign, keys, options, image } = await signedScene();
    await sign(keys.team, { name });
    const why = `its signature is of another repository, "${name}"`;
    expect((await check(...options)).reason).toContain(why);
    expect((await check(...options, '--verify-identity', `${image}-fork=${name}`)).reason).toContain(why);
    expect(await check(...options, '--verify-identity', `${image}=${name}`)).toMatchObject({ status: 'stale' });
    expect(await update(...options)).toMatchObject({ outcome: 'skipped' });
    await lab.engine.clear();
    const own = await signedScene({ ...minor, 'upkeep.verify-identity': `${name}, ghcr.test/other` });
    await own.sign(own.keys.team, { name });
    expect(await own.update(...own.options)).toMatchObject({ outcome: 'updated' });
    await lab.engine.clear();
    const empty = await signedScene({ ...minor, 'upkeep.verify-identity': '' });
    await empty.sign(empty.keys.team, { name });
    const held = await empty.check(...empty.options, '--verify-identity', `${empty.image}=${name}`);
    expect(held.reason).toContain('the label upkeep.verify-identity cannot be read: it is empty');
  });

  test('a required annotation holds what lacks it, by an option or a label', async () => {
    const prod = ['--verify-annotation', 'env=prod'];
    const { check, update, sign, refer, keys, options, digest } = await signedScene();
    await sign(keys.team, { annotations: { env: 'test' } });
    expect(await check(...options)).toMatchObject({ status: 'stale' });
    expect((await check(...options, ...prod)).reason).toContain('its signature has no annotation "env=prod"');
    await refer([bundleArtifact(digestOf(digest), keys.team.bundle(digest, { annotations: { env: 'prod' } }))]);
    expect(await update(...options, ...prod)).toMatchObject({ outcome: 'updated' });
    await lab.engine.clear();
    const own = await signedScene({ ...minor, 'upkeep.verify-annotation': 'env=prod' });
    await own.sign(own.keys.team, { annotations: { env: 'stage' } });
    expect(await own.check(...own.options, '--verify-with', 'off')).toMatchObject({ status: 'held', hold: 'unsigned' });
    expect(await own.update()).toMatchObject({ outcome: 'skipped' });
    await own.sign(own.keys.team, { annotations: { env: 'prod' } });
    expect(await own.update(...own.options)).toMatchObject({ outcome: 'updated' });
  });

  test.each(['upkeep.verify', 'upkeep.verify-annotation', 'com.centurylinklabs.watchtower.verify'])(
    'the label %s with nothing after it does not open, also with --verify-with off',
    async (label) => {
      const { check, update, sign, keys, options, tag } = await signedScene({ ...minor, [label]: '' });
      await sign(keys.team);
      for (const more of [options, [...options, '--verify-with', 'off'], []]) {
        const held = await check(...more);
        expect(held).toMatchObject({ status: 'held', hold: 'unsigned' });
        expect(held.reason).toContain('cannot be read: it is empty');
        expect(await update(...more)).toMatchObject({ outcome: 'skipped' });
      }
      expect(await tag()).toBe('1.0');
    },
  );

  test('the labels of an image itself open nothing', async () => {
    const name = 'ghcr.test/team/app';
    const Labels = { 'upkeep.verify': 'off', 'upkeep.verify-identity': name, 'upkeep.verify-annotation': 'env=test' };
    const { check, update, push, run, keys, options, repository, image } = await signedScene();
    await lab.engine.clear();
    await push('1.0', webServer('1.0', { Labels }));
    const { digest } = await push('1.1', webServer('1.1', { Labels }));
    await run('1.0', minor);
    expect((await check(...options)).reason).toContain('it has no signature');
    const artifact = signatureArtifact([keys.team.signImage(digest, name, { env: 'test' })]);
    await pushArtifact(lab.registry, repository, `${digest.replace(':', '-')}.sig`, artifact);
    expect((await check(...options)).reason).toContain('its signature is of another repository');
    expect(await update(...options)).toMatchObject({ outcome: 'skipped' });
    expect(await check(...options, '--verify-identity', `${image}=${name}`)).toMatchObject({ status: 'stale' });
  });

  test('the highest signed of many unsigned versions is used', async () => {
    const { update, push, sign, keys, options, tag } = await signedScene();
    await sign(keys.team);
    for (let n = 2; n < 30; n += 1) await push(`1.${n}`);
    expect(await update(...options)).toMatchObject({ outcome: 'updated' });
    expect(await tag()).toBe('1.1');
  });

  test('a signed index is enough for the image in it, and the digest of the own tag needs a signature too', async () => {
    const { update, sign, keys, options, repository, check, tag } = await signedScene({});
    const pushed = await pushIndex(lab.registry, repository, '1.0', webServer('1.0 again'));
    expect(await check(...options)).toMatchObject({ status: 'held', hold: 'unsigned', candidate_kind: 'digest' });
    await sign(keys.ops, { of: pushed.digest, at: pushed.digest });
    expect(await update(...options)).toMatchObject({ outcome: 'updated' });
    expect(await tag()).toBe('1.0');
    expect(await update(...options)).toMatchObject({ outcome: 'fresh' });
  });

  test.each([
    ['nothing/here.pub', 'Cannot read the verification key'],
    ['package.json', 'it holds no public key in PEM'],
    ['test/fixtures/tls/ca.pem', 'it holds a certificate, which is no key'],
  ])('the file %s is no key: the command does not begin, and says why', async (file, why) => {
    const { code, stdout, stderr } = await runUpkeep(['check', '--verify-key', file], { socket: lab.engine.socket });
    expect(code).toBe(2);
    expect(stdout + stderr).toContain(why);
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});

type Referrer = { readonly artifactType?: string };

function digestOf(text: string): Digest {
  if (isDigest(text)) return text;
  throw new Error(text);
}
