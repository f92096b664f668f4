import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSeal } from '../../../src/adapters/process/seal.ts';
import { createApplication } from '../../../src/application/create-application.ts';
import { recoverTransactions } from '../../../src/application/recovery/recover.ts';
import type { Seal } from '../../../src/domain/outside/outside.ts';
import { defaultSettings } from '../../../src/domain/settings/effective-settings.ts';
import { createSandboxScene, type SandboxScene } from '../../support/scene/sandbox-outside.ts';
import { journalLabels, nobodysId } from '../rig/forgery/forgery.ts';

/** With --journal-key-file an instance acts only on journals with its own seal. */

const settings = { ...defaultSettings, healthWindowMs: 1000, stopTimeoutMs: 1000 };
const image = 'registry.test/app:stable';

let folder = '';
const seals: Record<'own' | 'other', Seal | undefined> = { own: undefined, other: undefined };
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-'));
  for (const name of ['own', 'other'] as const) {
    const keyFile = join(folder, name);
    writeFileSync(keyFile, `the key of an instance called ${name}`);
    seals[name] = openSeal({ keyFile, folder: undefined });
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

type Key = 'own' | 'other' | 'none';
const sealOf = (key: Key) => (key === 'none' ? {} : { seal: seals[key]! });

/** An updater with that key was killed after the stop of `web` and before the start of its successor. */
async function interruptedWith(key: Key): Promise<SandboxScene> {
  const scene = createSandboxScene();
  const { sandbox, registry, clock } = scene;
  registry.store.publish(image, { version: '1' });
  await sandbox.engine.pullImage({ reference: image });
  sandbox.control.runContainer('web', { Image: image, HostConfig: { RestartPolicy: { Name: 'always' } } });
  registry.store.publish(image, { version: '2' });
  const { outside, connection } = scene.startProcess(
    sandbox.connect({ faults: [{ at: 'startContainer', fault: { kind: 'crash', when: 'before' } }] }),
  );
  const application = createApplication({ ...outside, ...sealOf(key) }, settings);
  await clock.run(() => application.update({ trigger: 'command', images: [], containers: [] })).catch(() => undefined);
  connection.crash();
  return scene;
}

async function recoverWith(scene: SandboxScene, key: Key, unsealed: readonly string[] = []) {
  const { outside, connection } = scene.startProcess();
  const world = { ...outside, ...sealOf(key) };
  const { transactions } = await scene.clock.run(() => recoverTransactions(world, settings, undefined, { unsealed }));
  connection.crash();
  return { transactions, changes: connection.calls.length };
}

const containersOf = ({ sandbox }: SandboxScene) =>
  Object.entries(sandbox.control.snapshot().containers)
    .map(([name, { running }]) => `${name}${running ? '' : ', down'}`)
    .toSorted();

describe('journals with a seal', () => {
  test.each<[Key, Key]>([
    ['own', 'own'],
    ['own', 'none'],
    ['none', 'none'],
  ])('of an update with the key "%s" are believed by a start with "%s"', async (before, after) => {
    const scene = await interruptedWith(before);
    expect((await recoverWith(scene, after)).transactions).toMatchObject([{ containers: ['web'], result: 'undone' }]);
    expect(containersOf(scene)).toEqual(['web']);
    expect((await recoverWith(scene, after)).changes).toBe(0);
  });

  test.each<[Key, Key]>([
    ['none', 'own'],
    ['other', 'own'],
  ])(
    'of an update with the key "%s" are left and told of by a start with "%s", until a person says so',
    async (before, after) => {
      const scene = await interruptedWith(before);
      const found = containersOf(scene);
      for (const names of [[], ['nobody']]) {
        const left = await recoverWith(scene, after, names);
        expect(left.changes).toBe(0);
        expect(left.transactions).toMatchObject([
          { result: 'left', isPending: true, reason: expect.stringContaining('upkeep recover --unsealed web') },
        ]);
      }
      expect(containersOf(scene)).toEqual(found);
      expect((await recoverWith(scene, after, ['web'])).transactions).toMatchObject([{ result: 'undone' }]);
      expect(containersOf(scene)).toEqual(['web']);
    },
  );

  test.each([
    'id',
    'name',
    'old',
    'old-image',
    'new-image',
    'ref',
    'policy',
    'run',
    'then',
    'keep',
    'owner',
    'members',
    'rm',
  ])('cover the label "%s"', async (label) => {
    const scene = await interruptedWith('own');
    const { control } = scene.sandbox;
    const successor = control.snapshot().containers['web']!;
    const values = new Map<string, string>([
      ...([
        ['old', nobodysId],
        ['members', `web=${nobodysId}`],
        ['policy', 'n'],
        ['run', '0'],
      ] as const),
      ...([
        ['then', 'stopped'],
        ['keep', '1'],
        ['rm', '1'],
      ] as const),
    ]);
    const Labels = {
      ...successor.settings.Config.Labels,
      ...journalLabels({ [label]: values.get(label) ?? 'another' }),
    };
    control.removeContainer(successor.id);
    control.addContainer('web.upkeep-new', { Image: image, Labels });
    const { transactions } = await recoverWith(scene, 'own');
    expect(transactions.filter(({ result }) => result !== 'left' && result !== 'undone')).toEqual([]);
    expect(containersOf(scene)).toContain('web.upkeep-new, down');
  });
});
