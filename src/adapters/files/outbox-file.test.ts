import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { createTestLog } from '../../../test/support/test-log.ts';
import { anyRecords, messageOf } from '../../../test/support/notify/outbox-arbitrary.ts';
import type { OutboxRecord } from '../../domain/notification/outbox.ts';
import { createOutboxFile } from './outbox-file.ts';

/** In memory if possible, because a sync on a busy disk is slow. */
const parent = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'upkeep-outbox-'));
afterAll(() => rmSync(parent, { recursive: true }));

const freshFolder = () => mkdtempSync(join(parent, 'state-'));
const put = (id: string): OutboxRecord => ({ kind: 'put', target: 'a', message: messageOf(id), dueAtMs: 1 });

describe('the outbox file', () => {
  test('holds what was appended, in order, for its owner alone', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyRecords, { minLength: 1, maxLength: 4 }), async (batches) => {
        const folder = join(freshFolder(), 'not', 'there', 'yet');
        const file = createOutboxFile(folder, createTestLog());
        for (const batch of batches) await file.append(batch);
        await file.close();
        const again = createOutboxFile(folder, createTestLog());
        expect(await again.load()).toEqual(batches.flat());
        await again.close();
        expect(statSync(join(folder, 'outbox.jsonl')).mode & 0o777).toBe(0o600);
      }),
      { numRuns: 15 },
    );
  });

  test('wherever its last line was torn, keeps all others, and takes more', async () => {
    const folder = freshFolder();
    const path = join(folder, 'outbox.jsonl');
    const whole = ['1', '2'].map((id) => `${JSON.stringify(put(id))}\n`).join('');
    const last = JSON.stringify(put('ü'));
    for (let end = 0; end < Buffer.byteLength(last); end += 11) {
      writeFileSync(path, Buffer.concat([Buffer.from(whole), Buffer.from(last).subarray(0, end)]));
      const log = createTestLog();
      const file = createOutboxFile(folder, log);
      expect(await file.load()).toEqual([put('1'), put('2')]);
      await file.append([put('3')]);
      await file.close();
      expect(log.lines).toEqual([]);
      expect(await createOutboxFile(folder, log).peek()).toEqual([put('1'), put('2'), put('3')]);
    }
  });

  test('is written anew as a whole, and a file of such a write that was torn is no harm', async () => {
    const folder = freshFolder();
    const path = join(folder, 'outbox.jsonl');
    writeFileSync(`${path}.new`, 'torn');
    const file = createOutboxFile(folder, createTestLog());
    await file.append([put('1'), put('2')]);
    await file.replace([put('2')]);
    await file.append([put('3')]);
    await file.close();
    expect(await file.peek()).toEqual([put('2'), put('3')]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('says once how many lines it cannot read, and never what is in them', async () => {
    const folder = freshFolder();
    appendFileSync(join(folder, 'outbox.jsonl'), `hunter2\n{"hunter2":1}\n${JSON.stringify(put('1'))}\n`);
    const log = createTestLog();
    const file = createOutboxFile(folder, log);
    expect(await file.load()).toEqual([put('1')]);
    await file.close();
    expect(log.lines).toMatchObject([{ level: 'warn', fields: { lines: 2 } }]);
    expect(JSON.stringify(log.lines)).not.toContain('hunter2');
  });

  test('that cannot be had is said to be so', async () => {
    const blocked = join(freshFolder(), 'file');
    writeFileSync(blocked, '');
    const log = createTestLog();
    const file = createOutboxFile(join(blocked, 'below'), log);
    expect(await file.load()).toEqual([]);
    expect(log.lines).toMatchObject([{ level: 'warn' }]);
    await expect(file.append([put('1')])).rejects.toThrow(/^Cannot write the outbox ".*": .*ENOTDIR/);
    await expect(file.replace([put('1')])).rejects.toThrow(/^Cannot write the outbox/);
  });

  test('without a file there is nothing to peek at, and none is made', async () => {
    const folder = freshFolder();
    expect(await createOutboxFile(folder, createTestLog()).peek()).toEqual([]);
    expect(() => readFileSync(join(folder, 'outbox.jsonl'))).toThrow(/ENOENT/);
  });

  test('that a person removes is made anew', async () => {
    const folder = freshFolder();
    const file = createOutboxFile(folder, createTestLog());
    await file.append([put('1')]);
    rmSync(join(folder, 'outbox.jsonl'));
    await file.append([put('2')]);
    await file.close();
    expect(await file.peek()).toEqual([put('2')]);
  });

  test('of several gigabytes is read in part, which is said', async () => {
    const folder = freshFolder();
    const path = join(folder, 'outbox.jsonl');
    writeFileSync(path, '');
    // Takes no room on the disk.
    truncateSync(path, 3 * 1024 ** 3);
    appendFileSync(path, `\n${JSON.stringify(put('1'))}\n`);
    const log = createTestLog();
    const file = createOutboxFile(folder, log);
    expect(await file.peek()).toEqual([put('1')]);
    expect(await file.load()).toEqual([put('1')]);
    await file.close();
    expect(log.lines.map(({ message }) => message)).toContain(
      'The outbox of notifications is too large, and only its end is read',
    );
  });

  test('on a disk that does not answer delays nobody for longer than the deadline, and is written again later', async () => {
    const folder = freshFolder();
    const path = join(folder, 'outbox.jsonl');
    const log = createTestLog();
    const file = createOutboxFile(folder, log);
    await whileItDoesNotAnswer(path, async (past) => {
      expect(await past(file.load())).toEqual([]);
      expect(JSON.stringify(log.lines)).toMatch(/Cannot read the outbox .*: the disk does not answer/);
      await expect(file.append([put('1')])).rejects.toThrow(/^Cannot write the outbox ".*": the disk does not answer/);
      await expect(file.replace([put('1')])).rejects.toThrow(/the disk does not answer/);
      await file.close();
    });
    rmSync(path);
    await expect.poll(() => file.replace([put('2')]).catch(() => 'late'), { timeout: 10_000 }).toBeUndefined();
    expect(await createOutboxFile(folder, log).peek()).toEqual([put('2')]);
  });

  test('that could not be read in time at the start keeps its records for the next one', async () => {
    const folder = freshFolder();
    const path = join(folder, 'outbox.jsonl');
    const other = `${path}.old`;
    const former = createOutboxFile(folder, createTestLog());
    await former.append([put('1')]);
    await former.close();
    renameSync(path, other);
    const file = createOutboxFile(folder, createTestLog());
    await whileItDoesNotAnswer(path, async (past) => expect(await past(file.load())).toEqual([]));
    renameSync(other, path);
    await expect.poll(() => file.append([put('2')]).catch(() => 'late'), { timeout: 10_000 }).toBeUndefined();
    expect(await file.peek()).toEqual([put('1'), put('2')]);
    for (const id of ['3', '4']) await file.replace([put(id)]);
    expect(await file.peek()).toEqual([put('1'), put('4')]);
    await file.close();
  });
});

type Past = <Result>(work: Promise<Result>) => Promise<Result>;

/** Replaces the file by one whose reading waits for a writer. `past` lets the deadline of a call pass; no other passes. */
async function whileItDoesNotAnswer(path: string, act: (past: Past) => Promise<unknown>): Promise<void> {
  execFileSync('mkfifo', [path]);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    await act((work) => {
      vi.runAllTimers();
      return work;
    });
  } finally {
    vi.useRealTimers();
    await (await open(path, 'r+')).close();
  }
}
