import { describe, expect, test } from 'vitest';
import { inspectedContainer } from '../../../test/support/scene/builders.ts';
import { type FileChange, type FileStat, foldersAbove, pathsToLookAt, placedFiles } from './placed-files.ts';

const second = 1000;
const day = 86_400_000;
const createdAtMs = Date.parse('2026-05-04T03:02:01.250Z');
const startedAtMs = createdAtMs + second;
const imageCreatedAtMs = createdAtMs - 3 * day;

/** A time of a program's file, with nanoseconds. */
const exact = (offsetMs: number) => new Date(createdAtMs + offsetMs).toISOString().replace('Z', '123456Z');
/** A time from an archive. */
const whole = (offsetMs: number) =>
  new Date(Math.round((createdAtMs + offsetMs) / second) * second).toISOString().replace('.000Z', 'Z');

type Entry = readonly [path: string, kind: FileChange['kind'], modifiedAt: string, stat?: Partial<FileStat>];

const isFolder = { kind: 'folder' } as const;
const folder = (path: string, kind: FileChange['kind'], modifiedAt: string): Entry => [
  path,
  kind,
  modifiedAt,
  isFolder,
];

type Life = {
  readonly startedAt?: string;
  readonly restartCount?: number;
  readonly recorded?: readonly string[];
};

const firstStart = new Date(startedAtMs).toISOString();

function found(entries: readonly Entry[], { startedAt = firstStart, restartCount = 0, recorded = [] }: Life = {}) {
  const web = inspectedContainer('web', { state: { startedAt } });
  return placedFiles(
    { ...web, createdAtMs, restartCount },
    {
      changes: entries.filter(([path]) => path !== '/').map(([path, kind]) => ({ path, kind })),
      stats: new Map(
        entries.map(([path, , modifiedAt, stat]) => [path, { kind: 'file', size: 1, modifiedAt, ...stat }]),
      ),
      imageCreatedAtMs,
      recorded,
    },
  );
}

const etc = folder('/etc', 'changed', exact(300));
const tmp: readonly Entry[] = [folder('/tmp', 'changed', exact(3 * second)), ['/tmp/pid', 'added', exact(2 * second)]];

describe('placedFiles()', () => {
  test('finds what compose writes at a start, and nothing that the program has written', () => {
    const { roots, bytes, largest } = found([
      etc,
      ['/etc/c1.conf', 'added', whole(300), { size: 8 }],
      ['/etc/app.conf', 'changed', exact(2 * second)],
      folder('/run', 'added', exact(200)),
      folder('/run/secrets', 'added', exact(200)),
      ['/run/secrets/s1', 'added', whole(200), { size: 30 }],
      ...tmp,
      ['/log', 'added', exact(5000), { size: 1000 }],
    ]);
    expect(roots).toEqual(['/etc/c1.conf', '/run']);
    expect({ bytes, largest }).toEqual({ bytes: 38, largest: '/run/secrets/s1' });
  });

  test('takes a folder apart in which a program has written too', () => {
    const { roots } = found([
      folder('/run', 'added', exact(2 * second)),
      ['/run/app.pid', 'added', exact(2 * second)],
      folder('/run/secrets', 'added', exact(200)),
      ['/run/secrets/s1', 'added', whole(200)],
      ['/run/secrets/sö', 'added', whole(200)],
    ]);
    expect(roots).toEqual(['/run/secrets']);
  });

  test.each<[string, number, Life]>([
    [
      'started some minutes after its creation',
      300 * second,
      { startedAt: new Date(createdAtMs + 301_000).toISOString() },
    ],
    ['restarted later', 200, { startedAt: new Date(createdAtMs + 9 * day).toISOString() }],
    ['restarted by its policy', 200, { startedAt: new Date(createdAtMs + 9 * day).toISOString(), restartCount: 4 }],
    [
      'stopped and started again by compose',
      9 * day,
      { startedAt: new Date(createdAtMs + 9 * day + 100).toISOString() },
    ],
  ])('finds what compose wrote into a container that was %s', (_, atMs, life) => {
    const { roots } = found([folder('/etc', 'changed', exact(20 * day)), ['/etc/c1', 'changed', whole(atMs)]], life);
    expect(roots).toEqual(['/etc/c1']);
  });

  test('finds what compose wrote at any start by the time of its folder', () => {
    const startedAt = new Date(createdAtMs + 30 * day).toISOString();
    const entries = (stampMs: number): readonly Entry[] => [
      folder('/etc', 'changed', exact(stampMs)),
      ['/etc/c1', 'changed', whole(9 * day)],
    ];
    expect(found(entries(9 * day + 300), { startedAt }).roots).toEqual(['/etc/c1']);
    expect(found(entries(9 * day + 9000), { startedAt }).roots).toEqual([]);
  });

  describe('what "docker cp" wrote', () => {
    const old = whole(-500 * day);

    test('before the first start is found with any time: a file, a link, a tree, an empty folder', () => {
      const link = { kind: 'link' } as const;
      const { roots } = found([
        folder('/', 'changed', exact(400)),
        etc,
        ['/etc/old.txt', 'added', old],
        ['/etc/link', 'added', old, link],
        folder('/srv', 'added', old),
        folder('/srv/empty', 'added', old),
        folder('/srv/sub', 'added', old),
        ['/srv/sub/a b.txt', 'added', old],
        ...tmp,
      ]);
      expect(roots).toEqual(['/etc/link', '/etc/old.txt', '/srv']);
    });

    test('before the first start is found in the place of a file of the image', () => {
      const app: Entry = folder('/app', 'changed', exact(400));
      expect(found([app, ['/app/app.conf', 'changed', old]]).roots).toEqual(['/app/app.conf']);
      // The program has written another one, and has changed the owner of all.
      const written: Entry = ['/app/state', 'changed', exact(9 * second)];
      expect(found([app, ['/app/app.conf', 'changed', old], written]).roots).toEqual(['/app/app.conf']);
      const lately = whole(-2 * day);
      const owned: Entry = ['/app/main.js', 'changed', whole(-9 * day)];
      expect(found([app, ['/app/app.conf', 'changed', lately], owned]).roots).toEqual(['/app/app.conf']);
    });

    test('is not distinguished from what a program unpacks, once the folder has changed', () => {
      const later = folder('/etc', 'changed', exact(2 * second));
      expect(found([later, ['/etc/old.txt', 'added', old]]).roots).toEqual([]);
      const startedAt = new Date(createdAtMs + day).toISOString();
      expect(found([etc, ['/etc/old.txt', 'added', old]], { startedAt }).roots).toEqual([]);
    });

    test('is found with any time in a folder that was placed and has not changed since', () => {
      const { roots } = found([
        folder('/', 'changed', exact(9 * second)),
        folder('/srv', 'added', whole(200)),
        ['/srv/old.txt', 'added', old],
      ]);
      expect(roots).toEqual(['/srv']);
    });

    test('is found in a changed folder if it is newer than the image', () => {
      const later = folder('/tmp', 'changed', exact(2 * second));
      expect(found([later, ['/tmp/f', 'added', whole(-20 * second)]]).roots).toEqual(['/tmp/f']);
    });

    test('into a container that never ran is all of it', () => {
      const entries = [folder('/etc', 'changed', exact(9)), ['/etc/f', 'added', exact(9)]] as const;
      expect(found(entries, { startedAt: '' }).roots).toEqual(['/etc/f']);
    });
  });

  describe('finds nothing in', () => {
    const fromImage = new Date(imageCreatedAtMs - 60_000).toISOString().replace(/\..*/, 'Z');

    test('files of the image whose owner a program has changed', () => {
      expect(
        found([
          folder('/', 'changed', exact(100)),
          folder('/app', 'changed', fromImage),
          ['/app/main.js', 'changed', fromImage],
        ]).roots,
      ).toEqual([]);
      // Compose has written beside them, or the engine has made a mount point there.
      const app = folder('/app', 'changed', exact(300));
      const owned: Entry = ['/app/main.js', 'changed', fromImage];
      expect(found([app, owned, ['/app/c1', 'added', whole(300)]]).roots).toEqual(['/app/c1']);
      expect(found([app, owned, folder('/app/data', 'added', exact(200))]).roots).toEqual([]);
      expect(found([app, owned, ['/app/lib.js', 'changed', fromImage]]).roots).toEqual([]);
    });

    test('files of the image that a program has copied with their times', () => {
      expect(
        found([
          folder('/', 'changed', exact(100)),
          folder('/var', 'changed', fromImage),
          folder('/var/www', 'changed', exact(2 * second)),
          folder('/var/www/html', 'added', fromImage),
          ['/var/www/html/index.php', 'added', fromImage],
        ]).roots,
      ).toEqual([]);
    });

    test('what a program writes while the engine notes its start', () => {
      const stamped = folder('/opt', 'changed', exact(second - 8));
      expect(found([stamped, ['/opt/f', 'added', fromImage]]).roots).toEqual([]);
    });

    test('removed files, devices and pipes', () => {
      expect(
        found([etc, ['/etc/a', 'removed', whole(300)], ['/etc/b', 'added', whole(300), { kind: 'other' }]]).roots,
      ).toEqual([]);
    });
  });

  test('finds what an earlier update has copied by its record, whenever it was written', () => {
    const entries: readonly Entry[] = [
      folder('/etc', 'changed', exact(9 * second)),
      ['/etc/c1', 'changed', whole(-90 * day)],
      ['/etc/other', 'changed', whole(-90 * day)],
      folder('/srv', 'added', exact(9 * second)),
      ['/srv/f', 'added', whole(-90 * day)],
      ['/srv/log', 'added', exact(9 * second)],
    ];
    expect(found(entries, { recorded: ['/etc/c1', '/srv'] }).roots).toEqual(['/etc/c1', '/srv/f']);
  });

  test('cannot tell on a file system that stores whole seconds', () => {
    const entries = [folder('/etc', 'changed', whole(300)), ['/etc/c1', 'added', whole(300)]] as const;
    expect(found(entries)).toMatchObject({ roots: [], isUnknowable: true });
    expect(found([etc, ['/etc/c1', 'added', whole(300)]])).toMatchObject({ isUnknowable: false });
  });
});

describe('pathsToLookAt()', () => {
  test('leaves out what mounts cover, and begins with folders of few changes', () => {
    const web = inspectedContainer('web', { host: { Tmpfs: { '/run/': '' } } });
    const container = { ...web, settings: { ...web.settings, Mounts: [{ Destination: '/data' }] } };
    const changes = ['/var/1', '/var/2', '/var/3', '/data', '/data/x', '/run/secrets', '/etc/c1', '/database']
      .map((path): FileChange => ({ path, kind: 'added' }))
      .concat({ path: '/etc/gone', kind: 'removed' });
    expect(pathsToLookAt(container, changes, 4)).toEqual(['/', '/etc/c1', '/database', '/var/1']);
  });
});

test('foldersAbove() begins outside', () => {
  expect(foldersAbove('/a/b/c')).toEqual(['/a', '/a/b']);
  expect(foldersAbove('/a')).toEqual([]);
});
