import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Journal, writeJournal } from '../../../src/domain/transaction/journal.ts';
import { keptName } from '../../../src/domain/transaction/transaction-names.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { isPodman } from '../../lab/engine/podman.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { pushArtifact } from '../../lab/registry/push.ts';
import { makeCosignKey, signatureArtifact } from '../../support/registry/cosign.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene, idsOf } from '../effects/scene.ts';

const oldId = 'a'.repeat(64);

describeInLab('a rollback of a container whose labels anyone may have written', (lab) => {
  const { engine, registry } = lab;
  const scene = effectsScene(lab, 'forged');
  const { image } = scene;
  let folder = '';
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'forged-'))));
  afterEach(async () => {
    await engine.clear();
    rmSync(folder, { recursive: true });
  });
  const upkeep = (...args: string[]) => runUpkeep([...args, '--health-window', '500ms'], { socket: engine.socket });

  const imageIdOf = async (reference: string) => {
    const { status, body } = await engine.call('GET', `/images/${encodeURIComponent(reference)}/json`);
    return status === 200 ? (body as { Id: string }).Id : undefined;
  };

  /** A container that claims to be updated. */
  async function forge(name: string, of: string, claims: Partial<Journal>): Promise<string> {
    const labels = writeJournal({
      transaction: `forged-${name}`,
      name,
      oldId,
      oldImageId: '',
      oldDigest: '',
      taggedBefore: '',
      newImageId: '',
      role: 'successor',
      autoRemoves: false,
      reference: of,
      wasRunning: true,
      keepMs: 0,
      policy: { Name: '', MaximumRetryCount: 0 },
      desiredEndState: 'running',
      owner: '',
      ownerContainer: '',
      members: [{ name, oldId }],
      ...claims,
    });
    return engine.run(name, of, { StopTimeout: 1, Labels: labels });
  }

  /** `vault` of its own image, and the image of a stranger. */
  async function vaultAndStranger() {
    const vault = await scene.run('vault');
    await scene.push('stranger', catalogue['plain-v2']);
    await engine.pull(image('stranger'));
    return { vault, stranger: (await imageIdOf(image('stranger'))) ?? '' };
  }

  const refused = (why: string) => ({ code: 1, stderr: expect.stringContaining(why) });

  test('never moves the tag of another repository, whatever the journal names', async () => {
    const { vault, stranger } = await vaultAndStranger();
    const evil = await forge('evil', image('stranger'), { reference: image('vault'), oldImageId: vault.Image });
    expect(await upkeep('rollback', 'evil')).toEqual(
      expect.objectContaining(refused('the journal of its last update is about another image')),
    );
    await forge('former', image('stranger'), { formerReference: image('vault'), oldImageId: vault.Image });
    expect(await upkeep('rollback', 'former')).toMatchObject(refused('another repository'));
    expect(await imageIdOf(image('vault'))).toBe(vault.Image);
    expect(await imageIdOf(image('stranger'))).toBe(stranger);
    expect((await engine.inspect('evil'))?.Id).toBe(evil);
    expect((await engine.inspect('vault'))?.Id).toBe(vault.Id);
  });

  test('gives a tag no image of a stranger, with a digest of the stranger or without', async () => {
    const { vault, stranger } = await vaultAndStranger();
    await forge('evil', image('vault'), { oldImageId: stranger });
    expect(await upkeep('rollback', 'evil')).toMatchObject(refused('nothing shows that its former image is of'));
    const { digest } = await scene.push('stranger', catalogue['plain-v2']);
    await forge('liar', image('vault'), { oldImageId: stranger, oldDigest: digest });
    expect(await upkeep('rollback', 'liar')).toMatchObject(refused('nothing shows that its former image is of'));
    expect(await imageIdOf(image('vault'))).toBe(vault.Image);
  });

  test('is not about the container whose journal was copied', async () => {
    const { next } = await scene.stale('vault');
    const key = ['--state-dir', folder];
    expect((await upkeep('update', ...key)).code).toBe(0);
    const vault = await scene.inspect('vault');
    const copy = await engine.run('copy', image('vault'), { StopTimeout: 1, Labels: vault.Config.Labels });
    for (const args of [key, []])
      expect(await upkeep('rollback', 'copy', ...args)).toMatchObject(refused('is about "vault"'));
    expect((await engine.inspect('copy'))?.Id).toBe(copy);
    expect((await scene.inspect('vault')).Id).toBe(vault.Id);
    expect(idsOf(next)).toContain(await imageIdOf(image('vault')));
  });

  test('takes along only containers that its update has moved', async () => {
    await scene.run('web');
    await engine.run('app', image('web'), {
      StopTimeout: 1,
      Cmd: ['sleep', 'infinity'],
      HostConfig: { NetworkMode: 'container:web' },
    });
    await scene.push('web', catalogue['plain-v2']);
    expect((await upkeep('update')).code).toBe(0);
    const [web, app] = [await scene.inspect('web'), await scene.inspect('app')];
    await scene.push('own', catalogue['plain-v1']);
    await engine.pull(image('own'));
    await scene.push('own', catalogue['plain-v2']);
    await engine.pull(image('own'));
    const transaction = app.Config.Labels['upkeep.tx.id'] ?? '';
    const former = await scene.push('own', catalogue['plain-v1']);
    await forge('evil', image('own'), {
      transaction,
      oldDigest: former.digest,
      oldImageId: former.configDigest,
      members: [
        { name: 'evil', oldId },
        { name: 'web', oldId: web.Config.Labels['upkeep.tx.old'] ?? '' },
        { name: 'app', oldId: app.Config.Labels['upkeep.tx.old'] ?? '' },
      ],
    });
    const hanger = await engine.run('hanger', image('web'), {
      StopTimeout: 1,
      Labels: { ...app.Config.Labels, 'upkeep.enable': 'false' },
    });
    await upkeep('rollback', 'evil');
    expect((await scene.inspect('web')).Id).toBe(web.Id);
    expect((await scene.inspect('app')).Id).toBe(app.Id);
    const evil = (await scene.inspect('evil')).Id;
    const back = await upkeep('rollback', 'app');
    expect(back.code, back.stderr).toBe(0);
    expect((await scene.inspect('web')).Id).not.toBe(web.Id);
    expect((await scene.inspect('hanger')).Id).toBe(hanger);
    expect((await scene.inspect('evil')).Id).toBe(evil);
  });

  test('pulls nothing that is not signed, if signatures are required', async () => {
    const old = await scene.push('vault', catalogue['plain-v1']);
    const key = makeCosignKey('team');
    await scene.stale('vault');
    expect((await upkeep('update', '--cleanup')).code).toBe(0);
    const vault = await scene.inspect('vault');
    const verify = ['--verify-key', key.file];
    expect(await upkeep('rollback', 'vault', ...verify)).toMatchObject(refused('not signed by "team"'));
    expect((await scene.inspect('vault')).Id).toBe(vault.Id);
    const signed = signatureArtifact([key.signImage(old.digest, image('vault').replace(/:stable$/, ''))]);
    await pushArtifact(registry, 'forged/vault', `${old.digest.replace(':', '-')}.sig`, signed);
    expect(await upkeep('rollback', 'vault', ...verify)).toMatchObject({ code: 0 });
    expect(idsOf(old)).toContain((await scene.inspect('vault')).Image);
  });

  test('with a key, believes only journals with its seal', async () => {
    const old = await scene.push('vault', catalogue['plain-v1']);
    const { Image } = await scene.stale('vault');
    expect((await upkeep('update')).code).toBe(0);
    const vault = await scene.inspect('vault');
    const state = ['--state-dir', folder];
    expect(await upkeep('rollback', 'vault', ...state)).toMatchObject(refused("the seal of this instance's key"));
    expect((await scene.inspect('vault')).Id).toBe(vault.Id);
    expect(await upkeep('rollback', 'vault')).toMatchObject({ code: 0 });
    expect((await scene.inspect('vault')).Image).toBe(Image);
    expect(idsOf(old)).toContain(Image);
  });

  test.skipIf(isPodman)('of an image that no registry has needs a seal', async () => {
    await scene.run('base');
    const build = async (comment: string) => {
      const query = `container=base&repo=built&tag=1&comment=${comment}`;
      await engine.call('POST', `/commit?${query}`, { Labels: { version: comment } });
    };
    await build('one');
    await engine.run('local', 'built:1', { StopTimeout: 1 });
    const { Image } = await scene.inspect('local');
    await build('two');
    const update = ['update', 'local', '--no-pull'];
    expect(await upkeep(...update, '--state-dir', folder)).toMatchObject({ code: 0 });
    expect((await scene.inspect('local')).Image).not.toBe(Image);
    expect(await upkeep('rollback', 'local')).toMatchObject(refused('nothing shows that its former image is of'));
    expect(await upkeep('rollback', 'local', '--state-dir', folder)).toMatchObject({ code: 0 });
    expect((await scene.inspect('local')).Image).toBe(Image);
  });

  test('returns to no kept container that only its name and a journal call so', async () => {
    const { vault, stranger } = await vaultAndStranger();
    const policy = { Name: 'no', MaximumRetryCount: 0 };
    const untilMs = Date.now() + 3_600_000;
    const kept = keptName({ name: 'evil', policy, wasRunning: true, untilMs });
    const keptId = await engine.run(kept, image('stranger'), { StopTimeout: 0 });
    await engine.call('POST', `/containers/${keptId}/stop?t=0`);
    const claims = { oldId: keptId, members: [{ name: 'evil', oldId: keptId }], keepMs: 3_600_000 };
    await forge('evil', image('vault'), { ...claims, oldImageId: stranger });
    expect(await upkeep('rollback', 'evil')).toMatchObject({ code: 1 });
    expect(await imageIdOf(image('vault'))).toBe(vault.Image);
    expect((await engine.inspect(keptId))?.State.Running).toBe(false);
  });
});
