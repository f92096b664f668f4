import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createTestLog } from '../../../test/support/test-log.ts';
import { lockFolder } from './folder-lock.ts';
import { createSharedRecords } from './shared-records.ts';

type Item = { readonly n: number };

const parent = mkdtempSync(join(tmpdir(), 'upkeep-shared-'));
afterAll(() => rmSync(parent, { recursive: true }));

const freshPath = () => join(mkdtempSync(join(parent, 'state-')), 'things.jsonl');

/** One process's view of the file; several processes share it. */
function open(path: string, deadlineMs?: number) {
  const log = createTestLog();
  const read = (value: unknown): Item | undefined =>
    typeof value === 'object' && value !== null && 'n' in value && typeof value.n === 'number'
      ? { n: value.n }
      : undefined;
  const records = createSharedRecords<Item>({
    path,
    what: 'things',
    version: 1,
    read,
    compact: (items) => items.slice(-50),
    log,
    ...(deadlineMs !== undefined && { deadlineMs }),
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

test('a disk that does not answer delays nobody, and the lock is held until the write ends', async () => {
  const path = freshPath();
  // Its reading waits for a writer.
  execFileSync('mkfifo', [path]);
  const { append } = open(path, 20);
  const folder = join(dirname(path), 'things.lock');
  try {
    expect(await append([{ n: 1 }])).toBe('not-kept');
    expect(await lockFolder(folder, 1)).toEqual({ kind: 'taken' });
  } finally {
    await (await openFile(path, 'r+')).close();
  }
  await expect.poll(async () => (await lockFolder(folder, 1)).kind).toBe('held');
});
