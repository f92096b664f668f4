import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { parseDigest } from '../../../src/domain/reference/digest.ts';
import { webServer } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { pushArtifact, pushIndex } from '../../lab/registry/push.ts';
import {
  artifactType,
  blobOf,
  type CosignKey,
  makeCosignKey,
  signatureArtifact,
} from '../../support/registry/cosign.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';
import { tagsScene } from './scene.ts';

/** https://github.com/opencontainers/distribution-spec/blob/main/spec.md#referrers-tag-schema */
const indexType = 'application/vnd.oci.image.index.v1+json';
const minor = { 'upkeep.policy': 'minor' };

describeInLab('signed images', (lab) => {
  afterEach(() => lab.engine.clear());

  async function signedScene(labels: Readonly<Record<string, string>> = minor) {
    const scene = tagsScene(lab);
    const keys = { team: makeCosignKey('team'), ops: makeCosignKey('ops', 'ed25519') };
    await scene.push('1.0');
    const { digest } = await scene.push('1.1');
    await scene.run('1.0', labels);
    const options = ['--verify-key', keys.team.file, '--verify-key', keys.ops.file];
    /** Signs like `cosign sign`, in the repository of `at`. */
    const sign = async (key: CosignKey, { of = digest, at = digest, name = scene.image } = {}) => {
      const artifact = signatureArtifact([key.signImage(of, name)]);
      await pushArtifact(lab.registry, scene.repository, `${at.replace(':', '-')}.sig`, artifact);
    };
    return { ...scene, keys, options, sign, digest };
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
    expect(approved).toMatchObject({ code: 0, stdout: expect.stringMatching(/^app: approved 1\.1 /) });
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
    const { check, update, keys, options, digest, image, repository } = await signedScene();
    const artifact = signatureArtifact([keys.team.signImage(digest, image)], parseDigest(digest));
    const { mediaType, bytes } = artifact.manifest;
    await pushArtifact(lab.registry, repository, 'signature', artifact);
    expect((await check(...options)).reason).toContain('it has no signature');
    const entry = { mediaType, digest: artifact.manifest.digest, size: bytes.length, artifactType };
    const manifest = blobOf(
      indexType,
      Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: indexType, manifests: [entry] })),
    );
    await pushArtifact(lab.registry, repository, digest.replace(':', '-'), { manifest, blobs: [] });
    expect(await update(...options)).toMatchObject({ outcome: 'updated' });
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
  ])('the file %s is no key: the command does not begin, and says why', async (file, why) => {
    const { code, stdout, stderr } = await runUpkeep(['check', '--verify-key', file], { socket: lab.engine.socket });
    expect(code).toBe(1);
    expect(stdout + stderr).toContain(why);
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});
