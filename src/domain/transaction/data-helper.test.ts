import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import type { Image, DataItem } from '../container/container.ts';
import {
  dataHelperRecipe,
  dataOrderLabel,
  dataVolumeNames,
  helperWords,
  ownerOfCopy,
  readCopied,
  parseDataOrder,
  parseJournaledData,
  readFigures,
  whyTooMuch,
  writeDataOrder,
  type DataOrder,
} from './data-helper.ts';
import { helperMarksOf, helperMarkTag } from './transaction-names.ts';

const volume: DataItem = {
  paths: ['/data'],
  mount: { Type: 'volume', Source: 'kept', VolumeOptions: { NoCopy: true, Subpath: 'part' } },
  title: 'volume "kept"',
  source: '/var/lib/docker/volumes/kept/_data/part',
};
const folder: DataItem = {
  paths: ['/conf'],
  mount: { Type: 'bind', Source: '/srv/apps/web/conf' },
  title: 'folder "/srv/apps/web/conf"',
  below: '/srv/apps',
  source: '/srv/apps/web/conf',
};
const data = { leader: 'web', items: [volume, folder], imageId: 'sha256:1', keepMs: 0 };
const order: DataOrder = {
  role: 'restore',
  transaction: 'tx-1',
  members: [{ name: 'web', oldId: 'a'.repeat(64) }],
  data,
};
const image: Image = {
  ...{ id: 'sha256:1', tags: [], digests: [], os: 'linux', architecture: 'amd64', variant: '', createdAtMs: 0 },
  config: { Volumes: { '/var/cache': {} } },
};

describe('dataHelperRecipe()', () => {
  const bodyOf = (role: DataOrder['role']) =>
    dataHelperRecipe({ ...order, role, image, engine: { kind: 'docker' }, isPrivileged: false, seal: undefined })
      .body as {
      readonly Entrypoint: readonly string[];
      readonly Cmd: readonly string[];
      readonly Labels: Readonly<Record<string, string>>;
      readonly HostConfig: { readonly Mounts: readonly Record<string, unknown>[] } & Record<string, unknown>;
    };

  test.each(['measure', 'save'] as const)('%s cannot write to the data, only restore can', (role) => {
    const readOnly = (of: DataOrder['role']) =>
      bodyOf(of)
        .HostConfig.Mounts.filter(({ Target }) => /^\/(?:from|to)\//.test(String(Target)))
        .map(({ ReadOnly }) => ReadOnly);
    expect(readOnly(role)).toEqual([true, true]);
    expect(readOnly('restore')).toEqual([false, false]);
  });

  test('has no network, no other rights than those of a copy, and no volumes of its image', () => {
    const { HostConfig } = bodyOf('save');
    expect(HostConfig).toMatchObject({ NetworkMode: 'none', ReadonlyRootfs: true, CapDrop: ['ALL'] });
    expect(HostConfig['SecurityOpt']).toContain('no-new-privileges');
    expect(HostConfig.Mounts).toContainEqual({ Type: 'tmpfs', Target: '/var/cache' });
    expect(HostConfig.Mounts[0]).toMatchObject({ VolumeOptions: { NoCopy: true, Subpath: 'part' } });
  });

  test.each([
    [{ kind: 'docker', remapsUsers: true }, false, 'host', false],
    [{ kind: 'docker' }, false, undefined, false],
    [{ kind: 'docker' }, true, undefined, true],
  ] as const)('on an engine %j for a privileged container: %s', (engine, isPrivileged, usernsMode, isAdmin) => {
    const { body } = dataHelperRecipe({ ...order, image, engine, isPrivileged, seal: undefined });
    const { UsernsMode, CapAdd } = body['HostConfig'] as { UsernsMode?: string; CapAdd: readonly string[] };
    expect(UsernsMode).toBe(usernsMode);
    expect(CapAdd.includes('SYS_ADMIN')).toBe(isAdmin);
  });

  test('gets paths of the host as arguments, never in its program', () => {
    const { Entrypoint, Cmd, HostConfig } = bodyOf('restore');
    expect(Cmd).toEqual(['tx-1', '', 'web/conf']);
    expect(Entrypoint.join('\n')).not.toContain('conf');
    expect(HostConfig.Mounts).toContainEqual({ Type: 'bind', Source: '/srv/apps', Target: '/root/1', ReadOnly: true });
  });

  test.each(['measure', 'save', 'restore'] as const)('the program of %s is one that a shell can read', (role) => {
    const [shell = '', , program = ''] = bodyOf(role).Entrypoint;
    expect(spawnSync(shell, ['-n', '-c', program], { encoding: 'utf8' }).stderr).toBe('');
  });

  test('its order can be read back, and a changed one cannot', () => {
    const text = bodyOf('restore').Labels[dataOrderLabel] ?? '';
    expect(parseDataOrder(text)).toEqual(order);
    expect(text).toBe(writeDataOrder(order));
    for (const wrong of ['', '{}', text.replace('"restore"', '"remove"'), text.replace('"volume"', '"image"')])
      expect(parseDataOrder(wrong)).toBeUndefined();
  });
});

test('the names of volumes are valid, and differ between transactions', () => {
  const { copy, reserve } = dataVolumeNames({ leader: 'web', transaction: 'tx-1' });
  for (const name of [copy, reserve]) expect(name).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/);
  expect(copy).not.toBe(dataVolumeNames({ leader: 'web', transaction: 'tx-2' }).copy);
});

test('the owner of a copy is read from its labels and from its name, whose end is the key of the mark', () => {
  const transaction = 'tx-1';
  const { copy, reserve } = dataVolumeNames({ leader: 'web-2', transaction });
  const { transactionKey } = helperMarkOf('a'.repeat(64), transaction);
  const labels = { 'upkeep.data.container': 'web-2', 'upkeep.data.of': transaction };
  const owner = { leader: 'web-2', transactionKey };
  expect(ownerOfCopy({ name: copy, labels })).toEqual({ ...owner, kind: 'labelled', transaction });
  expect(ownerOfCopy({ name: reserve, labels })).toBeUndefined();
  for (const name of [copy, reserve]) expect(ownerOfCopy({ name, labels: {} })).toEqual({ ...owner, kind: 'stray' });
  for (const name of [`a${copy}`, `${copy}0`, 'upkeep-data-web', copy.replace('data', 'date')])
    expect(ownerOfCopy({ name, labels: {} })).toBeUndefined();
});

/** The mark of a helper, as it is read from the images of an engine. */
function helperMarkOf(helperId: string, transaction: string) {
  const [mark] = helperMarksOf([{ tags: [helperMarkTag(helperId, transaction)] }]);
  if (mark === undefined) throw new Error('no mark');
  return mark;
}

test('parseJournaledData() accepts nothing but what a journal holds', () => {
  expect(parseJournaledData(JSON.stringify(data))).toEqual(data);
  expect(parseJournaledData(JSON.stringify({ ...data, keepsFormer: true }))).toEqual({ ...data, keepsFormer: true });
  expect(parseJournaledData(JSON.stringify({ ...data, keepsFormer: 1 }))).toEqual(data);
  const wrong = [
    { ...data, items: [] },
    { ...data, keepMs: -1 },
    { ...data, leader: 1 },
    { ...data, items: [{}] },
    null,
  ];
  for (const one of wrong) expect(parseJournaledData(JSON.stringify(one))).toBeUndefined();
});

describe('the figures of a helper', () => {
  const limits = { maxBytes: 10e9, timeoutMs: 600_000 };
  const figures = { bytes: 412e6, files: 5016, freeBytes: 50e9, freeInodes: 1e6, canClone: false };

  test('are read from its log', () => {
    const log = 'measured bytes=412000000 files=5016 free=50000000000 inodes=-1 clone=1\n';
    expect(readFigures(log)).toEqual({ ...figures, freeInodes: undefined, canClone: true });
    expect(readFigures('measured bytes=x')).toBeUndefined();
  });

  test.each([
    ['fits', {}, undefined],
    ['is too large', { bytes: 31.2e9 }, 'its data takes 31.2 GB, more than --data-max-size 10.0 GB'],
    ['is large, but can be cloned', { bytes: 31.2e9, canClone: true }, undefined],
    ['has no space', { freeBytes: 300e6 }, "its data need 722 MB, and only 300 MB are free on the engine's disk"],
    ['has no inodes', { freeInodes: 100 }, "its data has 5016 files, and the engine's disk has room for only 100 more"],
    [
      'takes too long',
      { files: 3e6, freeInodes: 1e9 },
      'copying its data would take about 15m5s, more than --data-timeout 10m',
    ],
  ])('what %s', (_what, more, reason) => {
    expect(whyTooMuch({ ...figures, ...more }, limits)).toBe(reason);
  });

  test.each([
    ['that fit', { freeBytes: 2e9 }, { freeInodes: 20_000 }, undefined],
    [
      'that need the space',
      { freeBytes: 1e9 },
      {},
      "its data need 722 MB, and only 547 MB are free on the engine's disk beside the copies of other updates",
    ],
    [
      'that need the inodes',
      { freeInodes: 12_000 },
      {},
      "its data has 5016 files, and the engine's disk has room for only 6482 more beside the copies of other updates",
    ],
    ['that can be cloned', { freeBytes: 1e9 }, { canClone: true }, undefined],
  ])('beside copies under way %s', (_what, own, other, reason) => {
    expect(whyTooMuch({ ...figures, ...own }, limits, [{ ...figures, ...other }])).toBe(reason);
  });
});

test('helperWords() shows the first line of what went wrong', () => {
  expect(helperWords('cp: cannot stat\nmore', 5)).toBe('exit 5: cp: cannot stat');
  expect(helperWords('\n', 137)).toBe('exit 137');
  expect(helperWords('copied 4096\ncopied 8192\ncp: no space left\n', 5)).toBe('exit 5: cp: no space left');
});

test('readCopied() finds the newest figure, and nothing in other words', () => {
  expect(readCopied('copied 4096\ncopied 8192\n')).toBe(8192);
  for (const log of ['', 'copied \n', 'cp: copied 12', 'copied 1e9', `copied ${'9'.repeat(16)}`])
    expect(readCopied(log)).toBeUndefined();
});
