import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { createTestLog } from '../../../test/support/test-log.ts';
import type { RecordStore } from '../../domain/outside/outside.ts';
import { createRecordFile, type RecordFileOptions } from './shared-records.ts';

type Item = { readonly n: number; readonly text?: string };

/** In memory if possible, because a sync on a busy disk is slow. */
const parent = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'upkeep-records-'));
afterAll(() => rmSync(parent, { recursive: true }));

function freshPath(): string {
  return join(mkdtempSync(join(parent, 'state-')), 'things.jsonl');
}

function storeAt(path: string, options: Partial<RecordFileOptions<Item>> = {}): RecordStore<Item> {
  const read = (value: unknown): Item | undefined =>
    typeof value === 'object' && value !== null && 'n' in value && typeof value.n === 'number'
      ? (value as Item)
      : undefined;
  const log = createTestLog();
  return createRecordFile<Item>({ path, what: 'things', version: 1, read, compact: (items) => items, log, ...options });
}

async function itemsAt(path: string): Promise<readonly Item[]> {
  const store = storeAt(path);
  const items = await store.load();
  await store.close();
  return items;
}

describe('a record file', () => {
  test('holds what was appended, in order, for its owner alone', async () => {
    const anyItem = fc.record({ n: fc.integer(), text: fc.string({ unit: 'binary' }) });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(anyItem, { maxLength: 4 }), { maxLength: 5 }), async (batches) => {
        const path = join(freshPath(), '..', 'not', 'there', 'yet', 'things.jsonl');
        const store = storeAt(path);
        await store.load();
        for (const batch of batches) expect(await store.append(batch)).toBe('kept');
        await store.close();
        expect(await itemsAt(path)).toEqual(batches.flat());
        expect(statSync(path).mode & 0o777).toBe(0o600);
      }),
      { numRuns: 20 },
    );
  });

  test('takes appends that come at once, one after the other', async () => {
    const path = freshPath();
    // Each append is synced, which is slow on a busy disk.
    const store = storeAt(path, { deadlineMs: 60_000 });
    const all = Array.from({ length: 50 }, (_, n) => ({ n }));
    expect(new Set(await Promise.all(all.map((item) => store.append([item]))))).toEqual(new Set(['kept']));
    await store.close();
    expect(await itemsAt(path)).toEqual(all);
  });

  test('wherever its end was torn, keeps every whole line and takes more', async () => {
    const path = freshPath();
    const store = storeAt(path);
    await store.append([{ n: 1, text: 'ü' }, { n: 2 }]);
    await store.append([{ n: 3, text: '\n' }]);
    await store.close();
    const whole = readFileSync(path);
    for (let end = 0; end <= whole.length; end += 1) {
      writeFileSync(path, whole.subarray(0, end));
      const kept = whole.subarray(0, end).toString().split('\n').length - 2;
      const again = storeAt(path);
      expect(await again.append([{ n: 4 }])).toBe('kept');
      await again.close();
      const numbers = (await itemsAt(path)).map(({ n }) => n);
      expect(numbers.slice(0, Math.max(0, kept))).toEqual([1, 2, 3].slice(0, Math.max(0, kept)));
      expect(numbers.at(-1)).toBe(4);
    }
  });

  test('reads any file without an error, and says how many lines it cannot read, never what is in them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        const path = freshPath();
        writeFileSync(path, bytes);
        const store = storeAt(path);
        await store.load();
        expect(await store.append([{ n: 1 }])).toBe('kept');
        await store.close();
        expect((await itemsAt(path)).at(-1)).toEqual({ n: 1 });
      }),
      { numRuns: 50 },
    );
    const path = freshPath();
    appendFileSync(path, 'hunter2\n{"hunter2":1}\n{"n":7}\n');
    const log = createTestLog();
    expect(await storeAt(path, { log }).load()).toEqual([{ n: 7 }]);
    expect(log.lines).toMatchObject([{ level: 'warn', fields: { lines: 2 } }]);
    expect(JSON.stringify(log.lines)).not.toContain('hunter2');
  });

  test.each([
    ['a newer version', '{"file":"upkeep things","version":2}\n{"n":1}\n'],
    ['another program', '{"file":"upkeep others","version":1}\n{"n":1}\n'],
  ])('of %s is left as it is, which is said once', async (_, text) => {
    const path = freshPath();
    writeFileSync(path, text);
    const log = createTestLog();
    const store = storeAt(path, { log });
    expect(await store.load()).toEqual([]);
    expect(await store.append([{ n: 2 }])).toBe('not-kept');
    expect(await store.append([{ n: 3 }])).toBe('not-kept');
    await store.close();
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(log.lines).toHaveLength(1);
  });

  test('on a full disk says once that nothing is kept, and once that it is again', async () => {
    const path = freshPath();
    symlinkSync('/dev/full', path);
    const log = createTestLog();
    const store = storeAt(path, { log });
    expect(await store.append([{ n: 1 }])).toBe('not-kept');
    expect(await store.append([{ n: 2 }])).toBe('not-kept');
    expect(log.lines).toMatchObject([
      { level: 'warn', message: expect.stringContaining('The things cannot be kept') as unknown },
    ]);
    rmSync(path);
    expect(await store.append([{ n: 3 }])).toBe('kept');
    expect(log.lines).toHaveLength(2);
    await store.close();
    expect(await itemsAt(path)).toEqual([{ n: 3 }]);
  });

  test('in a folder that cannot be had, answers all the same', async () => {
    const blocked = freshPath();
    writeFileSync(blocked, '');
    const log = createTestLog();
    const store = storeAt(join(blocked, 'below', 'things.jsonl'), { log });
    expect(await store.load()).toEqual([]);
    expect(await store.append([{ n: 1 }])).toBe('not-kept');
    await store.close();
    expect(log.lines).toHaveLength(1);
  });

  test('that someone removes is made anew', async () => {
    const path = freshPath();
    const store = storeAt(path);
    await store.append([{ n: 1 }]);
    rmSync(path);
    expect(await store.append([{ n: 2 }])).toBe('kept');
    await store.close();
    expect(await itemsAt(path)).toEqual([{ n: 2 }]);
  });

  test('is compacted at the start and as it grows, and leaves nothing beside it', async () => {
    const path = freshPath();
    const compact = (items: readonly Item[]) => items.slice(-3);
    const options = { compact, compactFromBytes: 500 };
    writeFileSync(`${path}.new`, 'torn');
    const store = storeAt(path, options);
    await store.load();
    for (let n = 0; n < 200; n += 1) await store.append([{ n }]);
    await store.close();
    expect(statSync(path).size).toBeLessThan(600);
    expect((await itemsAt(path)).slice(-3)).toEqual([{ n: 197 }, { n: 198 }, { n: 199 }]);
    expect(readdirSync(join(path, '..'))).toEqual(['things.jsonl']);
    expect(existsSync(`${path}.new`)).toBe(false);
  });

  test('a disk that never answers delays nobody for longer than the deadline', async () => {
    const path = freshPath();
    execFileSync('mkfifo', [path]);
    const store = storeAt(path, { deadlineMs: 20 });
    expect(await store.load()).toEqual([]);
    expect(await store.append([{ n: 1 }])).toBe('not-kept');
    const writer = await open(path, 'r+');
    await writer.close();
    await store.close();
  });
});
