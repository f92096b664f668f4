import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { spoiledFiles } from '../../../test/support/spoiled-files.ts';
import { createTestLog } from '../../../test/support/test-log.ts';
import { lockFolder } from './folder-lock.ts';
import { createSharedRecords } from './shared-records.ts';

type Item = { readonly n: number };

const parent = mkdtempSync(join(tmpdir(), 'upkeep-shared-'));
afterAll(() => rmSync(parent, { recursive: true }));

const freshPath = () => join(mkdtempSync(join(parent, 'state-')), 'things.jsonl');

/** One process's view of the file; several processes share it. */
function open(path: string, deadlineMs?: number, isWhole = false, onRead: () => unknown = () => undefined) {
  const log = createTestLog();
  const read = (value: unknown): Item | undefined => {
    onRead();
    return typeof value === 'object' && value !== null && 'n' in value && typeof value.n === 'number'
      ? { n: value.n }
      : undefined;
  };
  const records = createSharedRecords<Item>({
    path,
    what: 'things',
    version: 1,
    read,
    compact: (items) => items.slice(-50),
    log,
    ...(deadlineMs !== undefined && { deadlineMs }),
    ...(isWhole && { mustBeWhole: true as const }),
  });
  return { ...records, log };
}

const numbers = (items: readonly Item[]) => items.map(({ n }) => n);

test('each sees at its next reading what another has written', async () => {
  const path = freshPath();
  const [one, other] = [open(path), open(path)];
  expect(await one.read()).toEqual([]);
  expect(await other.append([{ n: 1 }])).toBe('kept');
  expect(numbers(await one.read())).toEqual([1]);
  expect(await one.append([{ n: 2 }, { n: 3 }])).toBe('kept');
  expect(numbers(await other.read())).toEqual([1, 2, 3]);
});

test('what is not changed is not read again', async () => {
  const path = freshPath();
  const { read, append } = open(path);
  await append([{ n: 1 }]);
  expect(await read()).toBe(await read());
});

test('writers take turns: whatever five of them write at once is all there, each in its order', async () => {
  const path = freshPath();
  const writers = Array.from({ length: 5 }, () => open(path));
  const answers = await Promise.all(
    writers.flatMap((writer, place) => [0, 1, 2, 3].map((n) => writer.append([{ n: place * 10 + n }]))),
  );
  expect(new Set(answers)).toEqual(new Set(['kept']));
  const found = numbers(await open(path).read());
  for (const place of writers.keys())
    expect(found.filter((n) => Math.floor(n / 10) === place)).toEqual([0, 1, 2, 3].map((n) => place * 10 + n));
});

test('a file of a newer version is not written to, and that is said', async () => {
  const path = freshPath();
  const { append } = open(path);
  await append([{ n: 1 }]);
  const newer = readFileSync(path, 'utf8').replace(/"version":1/, '"version":2');
  expect(newer).toContain('"version":2');
  writeFileSync(path, newer);
  const late = open(path);
  expect(await late.append([{ n: 2 }])).toBe('not-kept');
  expect(late.log.lines).toHaveLength(1);
  expect(readFileSync(path, 'utf8')).toBe(newer);
});

test('where the folder is none nothing is kept, and reading is empty', async () => {
  const path = join(parent, 'a-file');
  writeFileSync(path, '');
  const { read, append } = open(join(path, 'things.jsonl'));
  expect(await append([{ n: 1 }])).toBe('not-kept');
  expect(await read()).toEqual([]);
});

/** A disk that does not answer until the end: opening this pipe keeps each thread of Node's file system busy. */
function hangDisk(): { readonly end: () => void } {
  const pipe = `${freshPath()}.pipe`;
  execFileSync('mkfifo', [pipe]);
  const opened = Array.from({ length: 16 }, () => openFile(pipe, 'r'));
  return {
    end: () => {
      const writer = openSync(pipe, 'r+');
      void Promise.all(opened.map(async (handle) => (await handle).close())).finally(() => closeSync(writer));
    },
  };
}

test('a disk that does not answer delays nobody, and the lock is held until the write ends', async () => {
  const path = freshPath();
  await open(path).append([{ n: 1 }]);
  const folder = join(dirname(path), 'things.lock');
  let disk: ReturnType<typeof hangDisk> | undefined;
  const { append, read } = open(path, 200, false, () => (disk ??= hangDisk()));
  try {
    expect(await append([{ n: 2 }])).toBe('not-kept');
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/^lock-/)]);
  } finally {
    disk?.end();
  }
  await expect.poll(async () => (await lockFolder(folder, 1)).kind).toBe('held');
  await expect.poll(async () => numbers(await read())).toEqual([1, 2]);
});

test.each(spoiledFiles)('a file that %s is a fault until it is mended, and stays as it is', async (_, spoil, fault) => {
  const path = freshPath();
  const records = open(path);
  await records.append([{ n: 1 }]);
  expect(records.fault()).toBeUndefined();
  spoil(path);
  await records.read();
  expect(records.fault()).toBe(`things.jsonl: ${fault}`);
  expect(await records.append([{ n: 2 }])).toBe('not-kept');
  expect(records.log.lines.length).toBeGreaterThan(0);
  const fresh = open(path);
  expect(numbers(await fresh.read())).toEqual([]);
  expect(fresh.fault()).toBe(`things.jsonl: ${fault}`);
  rmSync(path, { recursive: true });
  await fresh.read();
  expect(fresh.fault()).toBeUndefined();
  expect(await fresh.append([{ n: 3 }])).toBe('kept');
});

test.each<[string, string, boolean]>([
  ['a record that this version does not know', '{"m":1}', true],
  ['a value that is no record', '7', true],
  ['text', 'skip web', true],
  ['a damaged record', '{"n":2,"kind":"sk\0\0"x"}', true],
  ['a damaged record with a space behind it', '{"n":\u0001} ', true],
  ['the beginning of a record, whose writer was killed', '{"n":', false],
  ['what a power cut leaves', '\0\0\0', false],
])('where nothing may be missing, %s is a fault: %s', async (_, line, isFault) => {
  const path = freshPath();
  await open(path, undefined, true).append([{ n: 1 }]);
  appendFileSync(path, `${line}\n`);
  const [lenient, strict] = [open(path), open(path, undefined, true)];
  expect(numbers(await lenient.read())).toEqual([1]);
  expect(lenient.fault()).toBeUndefined();
  await strict.read();
  expect(strict.fault()).toBe(isFault ? 'things.jsonl: a line of it cannot be read' : undefined);
  expect(await strict.append([{ n: 2 }])).toBe(isFault ? 'not-kept' : 'kept');
  expect(readFileSync(path, 'utf8')).toContain(line);
});

const shortened = 'things.jsonl: it has become shorter, or was removed, while Upkeep runs';
const cut = (path: string, keep: (bytes: number) => number) => truncateSync(path, keep(statSync(path).size));

test.each<[string, (path: string) => void, string]>([
  ['by the end of its last line', (path) => cut(path, (bytes) => bytes - 4), shortened],
  ['by its last line', (path) => cut(path, (bytes) => bytes - '{"n":2}\n'.length), shortened],
  ['to a third', (path) => cut(path, (bytes) => Math.floor(bytes / 3)), shortened],
  ['to its first line', (path) => writeFileSync(path, `${readFileSync(path, 'utf8').split('\n')[0]}\n`), shortened],
  ['to an empty line', (path) => writeFileSync(path, '\n'), 'things.jsonl: it is empty'],
  ['to nothing', (path) => cut(path, () => 0), 'things.jsonl: it is empty'],
  ['by its removal', (path) => rmSync(path), shortened],
])('where nothing may be missing, a file that is shortened %s is a fault of who knew it', async (_, spoil, fault) => {
  const path = freshPath();
  const [reader, writer] = [open(path, undefined, true), open(path, undefined, true)];
  await writer.append([{ n: 1 }]);
  await reader.read();
  await writer.append([{ n: 2 }]);
  await reader.read();
  const whole = readFileSync(path);
  spoil(path);
  for (const { read, append, fault: faultOf, log } of [reader, writer]) {
    await read();
    expect(faultOf()).toBe(fault);
    expect(await append([{ n: 3 }])).toBe('not-kept');
    await read();
    expect(faultOf()).toBe(fault);
    expect(log.lines).toHaveLength(1);
  }
  expect(numbers(await reader.read())).toEqual([1, 2]);
  writeFileSync(path, whole);
  expect(numbers(await reader.read())).toEqual([1, 2]);
  expect([reader.fault(), await writer.append([{ n: 3 }])]).toEqual([undefined, 'kept']);
});

test('where nothing may be missing, another process may append, and replace the file by a shorter one', async () => {
  const path = freshPath();
  const [one, other] = [open(path, undefined, true), open(path, undefined, true)];
  for (let n = 0; n < 60; n += 1) await one.append([{ n }]);
  await other.read();
  const { size } = statSync(path);
  // Its compaction.
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  writeFileSync(`${path}.new`, `${[lines[0], ...lines.slice(-50)].join('\n')}\n`);
  renameSync(`${path}.new`, path);
  expect(statSync(path).size).toBeLessThan(size);
  for (const { read, fault } of [one, other]) {
    expect(numbers(await read())).toHaveLength(50);
    expect(fault()).toBeUndefined();
  }
  expect(await one.append([{ n: 60 }])).toBe('kept');
  expect(numbers(await other.read())).toHaveLength(51);
});

test('where nothing may be missing, a new file has its first line at once, and an empty one is a fault', async () => {
  const path = freshPath();
  const records = open(path, undefined, true);
  expect([await records.read(), records.fault()]).toEqual([[], undefined]);
  const appended = records.append([{ n: 1 }]);
  const sizes = new Set<number>();
  for (let isDone = false; !isDone;) {
    isDone = await Promise.race([appended.then(() => true), new Promise<false>((go) => setImmediate(() => go(false)))]);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found !== undefined) sizes.add(found.size);
  }
  expect(sizes).not.toContain(0);
  writeFileSync(path, '');
  const late = open(path, undefined, true);
  await late.read();
  expect(late.fault()).toBe('things.jsonl: it is empty');
  expect(await late.append([{ n: 2 }])).toBe('not-kept');
  const lenient = open(path);
  await lenient.read();
  expect(lenient.fault()).toBeUndefined();
});

test('a disk that does not answer is a fault, until it answers', async () => {
  const path = freshPath();
  await open(path).append([{ n: 1 }]);
  const { read, fault } = open(path, 50);
  const disk = hangDisk();
  try {
    expect(await read()).toEqual([]);
    expect(fault()).toBe('things.jsonl: its disk does not answer');
  } finally {
    disk.end();
  }
  await expect.poll(async () => [numbers(await read()), fault()]).toEqual([[1], undefined]);
});

test.skipIf(process.getuid?.() !== 0)('what root writes belongs to the owner of the folder', async () => {
  const path = freshPath();
  chownSync(dirname(path), 1000, 1001);
  const records = open(path);
  await records.append([{ n: 1 }]);
  expect(statSync(path)).toMatchObject({ uid: 1000, gid: 1001 });
  chownSync(path, 1002, 1003);
  for (let n = 0; n < 30; n += 1) await records.append([{ n }]);
  expect(statSync(path)).toMatchObject({ uid: 1002, gid: 1003 });
  // Otherwise the owner could not lock the records any more, and two would write at once.
  expect(statSync(join(dirname(path), 'things.lock'))).toMatchObject({ uid: 1000, gid: 1001 });
  const lock = await lockFolder(dirname(path));
  expect(statSync(dirname(path))).toMatchObject({ uid: 1000 });
  if (lock.kind === 'held') await lock.release();
});

test.skipIf(process.getuid?.() !== 0)(
  'a folder for locks that root has made before is given to the owner, a link is not',
  async () => {
    const path = freshPath();
    const folder = join(dirname(path), 'things.lock');
    mkdirSync(folder);
    chownSync(dirname(path), 1000, 1001);
    await open(path).append([{ n: 1 }]);
    expect(statSync(folder)).toMatchObject({ uid: 1000, gid: 1001 });
    rmSync(folder, { recursive: true });
    const elsewhere = join(dirname(path), '..', `elsewhere-${Math.random()}`);
    mkdirSync(elsewhere);
    symlinkSync(elsewhere, folder);
    await open(path).append([{ n: 2 }]);
    expect(statSync(elsewhere)).toMatchObject({ uid: 0 });
  },
);
