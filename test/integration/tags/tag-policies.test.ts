import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { catalogue, webServer } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';
import { tagsScene } from './scene.ts';

describeInLab('tag policies', (lab) => {
  afterEach(() => lab.engine.clear());

  test.each([
    ['patch', '1.2.9', 'patch'],
    ['minor', '1.10.0', 'minor'],
    ['major', '2.0.0', 'major'],
    ['regex:^(1)\\.(\\d+)\\.(\\d+)$', '1.10.0', 'minor'],
  ])('%s: a container moves to the highest tag of its policy, and a second run finds nothing to do', async (...row) => {
    const [policy, expected, kind] = row;
    const { push, run, check, update, tag, image } = tagsScene(lab);
    for (const each of ['1.2.3', '1.2.9', '1.9.0', '1.10.0', '2.0.0', '3.0.0-rc.1', 'latest']) await push(each);
    await run('1.2.3', { 'upkeep.policy': policy });
    const candidate = `${image}:${expected}`;
    expect(await check()).toMatchObject({ status: 'stale', candidate, candidate_kind: kind });
    const change = { from_image: `${image}:1.2.3`, to_image: candidate };
    expect(await update()).toMatchObject({ outcome: 'updated', ...change });
    expect(await tag()).toBe(expected);
    expect(await update()).toMatchObject({ outcome: 'fresh' });
    expect(await check('--policy', 'digest')).toMatchObject({ status: 'fresh' });
    expect(await tag()).toBe(expected);
  });

  test('a higher tag of a step that needs a person waits, and smaller ones do not', async () => {
    const { push, run, check, update, tag, image } = tagsScene(lab);
    const folder = mkdtempSync(join(tmpdir(), 'approved-tags-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const state = ['--state-dir', folder];
    for (const each of ['1.2.3', '1.2.4']) await push(each);
    await run('1.2.3', { 'upkeep.policy': 'minor', 'upkeep.approve': 'minor' });
    expect(await update(...state)).toMatchObject({ outcome: 'updated', to_image: `${image}:1.2.4` });
    await push('1.3.0');
    const waiting = { status: 'held', hold: 'approval', candidate: `${image}:1.3.0`, candidate_kind: 'minor' };
    expect(await check(...state)).toMatchObject(waiting);
    expect(await update(...state)).toMatchObject({ outcome: 'skipped' });
    const approved = await runUpkeep(['approve', 'app', ...state], { socket: lab.engine.socket });
    expect(approved).toMatchObject({ code: 0, stdout: expect.stringMatching(/^app: approved 1\.2\.4 → 1\.3\.0$/m) });
    await push('1.4.0');
    expect(await update(...state)).toMatchObject({ outcome: 'skipped' });
    expect(await check(...state)).toMatchObject({ ...waiting, candidate: `${image}:1.4.0` });
    expect((await runUpkeep(['approve', 'app', ...state], { socket: lab.engine.socket })).code).toBe(0);
    expect(await update(...state)).toMatchObject({ outcome: 'updated', to_image: `${image}:1.4.0` });
    expect(await tag()).toBe('1.4.0');
    expect(await update(...state)).toMatchObject({ outcome: 'fresh' });
  });

  test('--policy is for containers without the label, and the own tag is followed too', async () => {
    const { push, run, update, tag } = tagsScene(lab);
    await push('1.27');
    await run('1.27');
    await push('1.27', webServer('1.27 again'));
    expect(await update('--policy', 'minor')).toMatchObject({ outcome: 'updated' });
    expect(await tag()).toBe('1.27');
    await push('1.28');
    expect(await update()).toMatchObject({ outcome: 'fresh' });
    expect(await update('--policy', 'minor')).toMatchObject({ outcome: 'updated' });
    expect(await tag()).toBe('1.28');
    expect(await update('--policy', 'minor')).toMatchObject({ outcome: 'fresh' });
  });

  test.each(['crash', 'unstartable', 'sick'] as const)(
    'a higher tag whose image is %s gives way to the old one',
    async (bad) => {
      const { push, run, update, check, tag } = tagsScene(lab);
      await push('1.0');
      await push('1.1', catalogue[bad]);
      await run('1.0', { 'upkeep.policy': 'minor' });
      expect(await update('--health-timeout', '3s')).toMatchObject({ outcome: 'rolled_back' });
      expect(await tag()).toBe('1.0');
      expect(await check()).toMatchObject({ status: 'held', hold: 'failed' });
      expect(await update()).toMatchObject({ outcome: 'skipped' });
      await push('1.2');
      expect(await update()).toMatchObject({ outcome: 'updated' });
      expect(await tag()).toBe('1.2');
    },
  );

  describe('upkeep rollback', () => {
    test.each(['0', '1h'])('returns to the old tag, which stays, with --keep-old %s', async (keep) => {
      const { push, run, update, tag } = tagsScene(lab);
      await push('1.0');
      await push('1.1');
      await run('1.0', { 'upkeep.policy': 'minor' });
      await update('--keep-old', keep);
      expect(await tag()).toBe('1.1');
      const options = { socket: lab.engine.socket };
      const { code, stderr } = await runUpkeep(['rollback', 'app', '--health-window', '1s'], options);
      expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
      expect(await tag()).toBe('1.0');
      expect(await update()).toMatchObject({ outcome: 'skipped' });
      expect(await tag()).toBe('1.0');
      expect(await update('--retry-failed')).toMatchObject({ outcome: 'updated' });
      expect(await tag()).toBe('1.1');
    });
  });

  test('--cleanup removes the image of the tag that was left', async () => {
    const { push, run, update, image } = tagsScene(lab);
    await push('1.0');
    await push('1.1');
    await run('1.0', { 'upkeep.policy': 'minor' });
    expect(await update('--cleanup')).toMatchObject({ outcome: 'updated' });
    const { body } = await lab.engine.call('GET', '/images/json');
    const tags = (body as { RepoTags: string[] | null }[]).flatMap(({ RepoTags }) => RepoTags ?? []);
    expect(tags.filter((tag) => tag.startsWith(image))).toEqual([`${image}:1.1`]);
  });
});
