import { describe, expect, test } from 'vitest';
import { inspectedContainer, type ContainerParts } from '../../../test/support/scene/builders.ts';
import { defaultSettings } from '../settings/effective-settings.ts';
import type { DataChoice } from '../settings/values/label-values.ts';
import type { DataItem, MountPoint } from '../container/container.ts';
import { otherWriter, provenItems, savedDataOf, type SavedData } from './saved-data.ts';

const anonymous = 'a'.repeat(64);

function volume(name: string, path: string, more: Partial<MountPoint> = {}): MountPoint {
  return { Type: 'volume', Name: name, Source: `/var/lib/docker/volumes/${name}/_data`, Destination: path, ...more };
}

function bind(source: string, path: string, more: Partial<MountPoint> = {}): MountPoint {
  return { Type: 'bind', Source: source, Destination: path, RW: true, ...more };
}

function saved(
  parts: ContainerParts,
  {
    data = { kind: 'volumes' },
    dataFolders = [],
    freshVolumes = false,
  }: { data?: DataChoice; dataFolders?: readonly string[]; freshVolumes?: boolean } = {},
): SavedData | undefined {
  return savedDataOf(inspectedContainer('web', parts), { ...defaultSettings, data, dataFolders }, { freshVolumes });
}

describe('savedDataOf()', () => {
  test('is nothing unless an option or a label of the container asks, and a label of its image does not', () => {
    const mounts = [volume('data', '/data')];
    const labels = { 'upkeep.data': 'volumes' };
    expect(saved({ mounts }, { data: { kind: 'none' } })).toBeUndefined();
    expect(saved({ mounts, labels, imageLabels: labels }, { data: { kind: 'none' } })).toBeUndefined();
    expect(saved({ mounts, labels }, { data: { kind: 'none' } })?.items).toHaveLength(1);
    expect(saved({ mounts, labels: { 'upkeep.data': 'none' } })).toBeUndefined();
  });

  test('is all writable volumes, each with the reason why another mount is left', () => {
    const mounts = [
      volume('data', '/var/lib/data/'),
      volume(anonymous, '/own'),
      { Type: 'volume', Source: `/var/lib/docker/volumes/${'b'.repeat(64)}/_data`, Destination: '/unnamed' },
      volume('shared', '/read', { RW: false }),
      { Type: 'tmpfs', Destination: '/memory' },
      { Type: 'image', Destination: '/image' },
      bind('/etc', '/host'),
    ];
    const found = saved({ mounts, host: { Tmpfs: { '/run/x': '' } } });
    expect(found?.items.map(({ paths, title }) => [...paths, title])).toEqual([
      ['/own', `volume "${anonymous}"`],
      ['/unnamed', `volume "${'b'.repeat(64)}"`],
      ['/var/lib/data', 'volume "data"'],
    ]);
    expect(found?.items[2]?.mount).toEqual({ Type: 'volume', Source: 'data', VolumeOptions: { NoCopy: true } });
    expect(found?.left).toEqual([
      { path: '/host', reason: 'host folder outside of --data-folders' },
      { path: '/image', reason: 'mount of type "image"' },
      { path: '/memory', reason: 'memory' },
      { path: '/read', reason: 'read-only' },
      { path: '/run/x', reason: 'memory' },
    ]);
    expect(found?.fault).toBeUndefined();
  });

  test.each([
    ['/srv/apps', true],
    ['/srv/apps/web', true],
    ['/srv/apps-of-others', false],
    ['/srv', false],
    ['/', false],
    ['/srv/apps/../../etc', false],
    ['/srv/apps/./web', false],
    ['/srv//apps/web', false],
    ['srv/apps', false],
    ['', false],
  ])('the host folder %s counts below /srv/apps only: %s', (source, isSaved) => {
    const found = saved({ mounts: [bind(source, '/config')] }, { dataFolders: ['/mnt', '/srv/apps/'] });
    expect(found?.items.map(({ below }) => below)).toEqual(isSaved ? ['/srv/apps'] : []);
  });

  test('no label adds a host folder', () => {
    const labels = { 'upkeep.data': '/config', 'upkeep.data-folders': '/srv' };
    const found = saved({ mounts: [bind('/srv/x', '/config')], labels });
    expect(found).toMatchObject({
      items: [],
      fault: 'names "/config" in its label data, which cannot be copied: host folder outside of --data-folders',
    });
  });

  test('a path of the own label that is no mount is a fault, and one of the option is not', () => {
    const mounts = [volume('data', '/data'), volume('other', '/other')];
    expect(saved({ mounts, labels: { 'upkeep.data': '/data/pg,/data' } })?.fault).toBe(
      'names "/data/pg" in its label data, which is no volume or folder of it; "/data" is one',
    );
    expect(saved({ mounts, labels: { 'upkeep.data': '/dta' } })?.fault).toBe(
      'names "/dta" in its label data, which is no volume or folder of it',
    );
    const found = saved({ mounts }, { data: { kind: 'paths', paths: ['/data', '/nowhere'] } });
    expect(found?.fault).toBeUndefined();
    expect(found?.items.map(({ paths }) => paths)).toEqual([['/data']]);
    expect(found?.left).toEqual([{ path: '/other', reason: 'not named' }]);
  });

  test('what cannot change, or is gone with each stop, is no fault', () => {
    const mounts = [volume('data', '/data', { RW: false }), { Type: 'tmpfs', Destination: '/memory' }];
    const found = saved({ mounts, host: { Tmpfs: { '/t': '' } }, labels: { 'upkeep.data': '/data,/memory,/t' } });
    expect(found).toMatchObject({ items: [], left: [{ path: '/data' }, { path: '/memory' }, { path: '/t' }] });
    expect(found?.fault).toBeUndefined();
  });

  test('sources that contain each other are one item', () => {
    const mounts = [
      bind('/srv/web/config', '/a'),
      bind('/srv/web', '/b'),
      bind('/srv/web2', '/c'),
      volume('data', '/d'),
      volume('data', '/e'),
    ];
    const found = saved({ mounts }, { dataFolders: ['/srv'] });
    expect(found?.items.map(({ paths }) => paths)).toEqual([['/a', '/b'], ['/c'], ['/d', '/e']]);
    expect(found?.items[0]?.mount).toEqual({ Type: 'bind', Source: '/srv/web' });
  });

  test('a part of a volume is mounted as the container has it', () => {
    const mount = { Type: 'volume', Source: 'data', Target: '/data', VolumeOptions: { Subpath: 'web' } };
    const found = saved({ mounts: [volume('data', '/data')], host: { Mounts: [mount] } });
    expect(found?.items).toMatchObject([
      { mount: { Source: 'data', VolumeOptions: { NoCopy: true, Subpath: 'web' } }, title: 'volume "data" ("web")' },
    ]);
  });

  test('anonymous volumes that the new container does not get are left', () => {
    const mounts = [volume(anonymous, '/own'), volume('data', '/data')];
    const found = saved({ mounts, config: { Volumes: { '/own': {} } } }, { freshVolumes: true });
    expect(found?.items.map(({ paths }) => paths)).toEqual([['/data']]);
    expect(found?.left).toEqual([{ path: '/own', reason: 'the new container gets a new volume' }]);
  });
});

describe('otherWriter()', () => {
  const shared = { 'upkeep.data-shared': 'true' };

  function writerOf(others: Readonly<Record<string, ContainerParts>>, own: ContainerParts = {}): string | undefined {
    const parts = { mounts: [volume('data', '/data'), bind('/srv/apps/web', '/config')], ...own };
    const owner = inspectedContainer('web', parts);
    const found = savedDataOf(owner, { data: { kind: 'volumes' }, dataFolders: ['/srv/apps'] });
    const containers = [owner, ...Object.entries(others).map(([name, other]) => inspectedContainer(name, other))];
    const group = new Set([owner.id]);
    const writer = otherWriter(owner, found?.items ?? [], { containers, group });
    return writer && `${writer.name}: ${writer.item.title}`;
  }

  test.each<[string, ContainerParts, string | undefined]>([
    ['the same volume', { mounts: [volume('data', '/x')] }, 'other: volume "data"'],
    ['the same volume, read-only', { mounts: [volume('data', '/x', { RW: false })] }, undefined],
    ['the same volume, stopped', { status: 'exited', mounts: [volume('data', '/x')] }, undefined],
    ['the same volume, paused', { status: 'paused', mounts: [volume('data', '/x')] }, 'other: volume "data"'],
    ['the folder of the volume', { mounts: [bind('/var/lib/docker/volumes/data', '/x')] }, 'other: volume "data"'],
    [
      'a folder in the volume',
      { mounts: [bind('/var/lib/docker/volumes/data/_data/a', '/x')] },
      'other: volume "data"',
    ],
    ['all volumes', { mounts: [bind('/var/lib/docker/volumes', '/x')] }, undefined],
    ['the whole host', { mounts: [bind('/', '/x')] }, undefined],
    ['a folder above', { mounts: [bind('/srv/apps', '/x')] }, 'other: folder "/srv/apps/web"'],
    ['a folder below', { mounts: [bind('/srv/apps/web/a', '/x')] }, 'other: folder "/srv/apps/web"'],
    ['a folder with a longer name', { mounts: [bind('/srv/apps/web2', '/x')] }, undefined],
    ['its own label alone', { mounts: [volume('data', '/x')], labels: shared }, 'other: volume "data"'],
  ])('another container with %s', (_, other, expected) => {
    expect(writerOf({ other })).toBe(expected);
  });

  test('is one that has the folder of a volume of which a part is copied', () => {
    const part = volume('data', '/data', { Source: '/var/lib/docker/volumes/data/_data' });
    const Mounts = [{ Type: 'volume', Source: 'data', Target: '/data', VolumeOptions: { Subpath: 'a/b' } }];
    const own: ContainerParts = { mounts: [part], host: { Mounts } };
    const other = (folder: string) => ({ other: { mounts: [bind(folder, '/x')] } });
    expect(writerOf(other('/var/lib/docker/volumes/data'), own)).toBe('other: volume "data" ("a/b")');
    expect(writerOf(other('/var/lib/docker/volumes/data/_data/a'), own)).toBe('other: volume "data" ("a/b")');
    expect(writerOf(other('/var/lib/docker/volumes'), own)).toBeUndefined();
  });

  test('counts unless both say that their data are shared, and an image cannot say so', () => {
    const other = { mounts: [volume('data', '/x')], labels: shared };
    expect(writerOf({ other }, { labels: shared })).toBeUndefined();
    expect(writerOf({ other: { ...other, imageLabels: shared } }, { labels: shared })).toBe('other: volume "data"');
    expect(writerOf({ other: { ...other, labels: {} } }, { labels: shared })).toBe('other: volume "data"');
  });
});

describe('provenItems()', () => {
  const folders = ['/srv/apps'];
  const parts = {
    mounts: [volume('data', '/data'), bind('/srv/apps/web', '/files'), volume('shared', '/read', { RW: false })],
  };
  const old = inspectedContainer('web', parts);
  const [first, second] = saved(parts, { dataFolders: folders })?.items ?? [];
  const proven = (item: DataItem | undefined, allowed: readonly string[] = folders) =>
    provenItems(item === undefined ? [] : [item], [old], allowed);

  test('are the items that an update has written, in their order', () => {
    const items = [second, first].flatMap((item) => item ?? []);
    expect(items).toHaveLength(2);
    expect(provenItems(items, [old], folders)).toEqual(items);
  });

  test('are found again after the folder of the engine was moved', () => {
    const moved = { ...first, source: '/mnt/docker/volumes/data/_data' } as DataItem;
    expect(proven(moved)).toEqual([first]);
  });

  test.each<[string, Partial<DataItem>, DataItem | undefined]>([
    ['mounts another folder than it says', { mount: { Type: 'bind', Source: '/etc' } }, second],
    ['says another folder than it mounts', { source: '/etc' }, second],
    ['mounts a volume of someone else', { mount: { Type: 'volume', Source: 'other' } }, first],
    [
      'mounts a volume with the name of a folder of the engine',
      { mount: { Type: 'volume', Source: 'volumes' } },
      first,
    ],
    [
      'mounts a part of a volume that is mounted whole',
      { mount: { Type: 'volume', Source: 'data', VolumeOptions: { Subpath: 'part' } } },
      first,
    ],
    ['mounts a volume that can only be read', { mount: { Type: 'volume', Source: 'shared' } }, first],
  ])('are none for one that %s', (_, forged, item) => {
    expect(proven({ ...item, ...forged } as DataItem)).toMatch(
      /^the old container does not use the (?:volume|folder) /,
    );
  });

  test.each<[string, Partial<DataItem>]>([
    ['below', { below: '/srv/apps/web' }],
    ['a driver', { mount: { ...first?.mount, VolumeOptions: { DriverConfig: { Name: 'local' } } } }],
    ['a title', { title: 'volume "other"' }],
  ])('take nothing else from a journal: %s', (what, forged) => {
    const item = what === 'below' ? second : first;
    expect(proven({ ...item, ...forged } as DataItem)).toEqual([item]);
  });

  test('are none for a folder that is not allowed any more', () => {
    expect(proven(second, ['/srv/other'])).toBe('--data-folders does not allow the folder "/srv/apps/web" any more');
  });
});
