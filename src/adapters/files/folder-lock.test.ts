import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { createTestLog } from '../../../test/support/test-log.ts';
import { type FolderLock, lockFolder } from './folder-lock.ts';
import { openStateFolder } from './state-folder.ts';

const parent = mkdtempSync(join(tmpdir(), 'upkeep-lock-'));
afterAll(() => rmSync(parent, { recursive: true }));

const freshFolder = () => mkdtempSync(join(parent, 'state-'));

async function release(lock: FolderLock): Promise<void> {
  if (lock.kind === 'held') await lock.release();
}

/** Another process, which holds the folder until it is killed. With the name `new` it does not hold the lock yet. */
async function holder(folder: string, name = 'lock'): Promise<ChildProcess> {
  const path = join(folder, `${name}-00000000000000aa.sock`);
  const child = spawn(process.execPath, [
    '-e',
    `require('node:net').createServer().listen(${JSON.stringify(path)}, () => console.log('there'))`,
  ]);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

describe('the lock of a folder', () => {
  test('is held by one at a time, and leaves nothing behind', async () => {
    const folder = join(freshFolder(), 'not', 'there', 'yet');
    const first = await lockFolder(folder);
    expect(first.kind).toBe('held');
    expect((await lockFolder(folder)).kind).toBe('taken');
    await release(first);
    expect(readdirSync(folder)).toEqual([]);
    const next = await lockFolder(folder);
    expect(next.kind).toBe('held');
    await release(next);
  });

  test('is never held by two, however many come at once', async () => {
    for (let round = 0; round < 6; round += 1) {
      const folder = freshFolder();
      const locks = await Promise.all(Array.from({ length: 8 }, () => lockFolder(folder)));
      expect(locks.filter(({ kind }) => kind === 'held').length).toBeLessThanOrEqual(1);
      expect(locks.filter(({ kind }) => kind === 'impossible')).toEqual([]);
      for (const lock of locks) await release(lock);
    }
  });

  test('of a process that was stopped in its tracks is its own, and of one that was killed, nobody’s', async () => {
    const folder = freshFolder();
    const other = await holder(folder);
    other.kill('SIGSTOP');
    expect((await lockFolder(folder)).kind).toBe('taken');
    other.kill('SIGKILL');
    await once(other, 'exit');
    const lock = await lockFolder(folder);
    expect(lock.kind).toBe('held');
    expect(readdirSync(folder)).toHaveLength(1);
    await release(lock);
  });

  test('is not held by a process that has only a new socket, which goes once the process is gone', async () => {
    const folder = freshFolder();
    const other = await holder(folder, 'new');
    const lock = await lockFolder(folder);
    expect(lock.kind).toBe('held');
    await release(lock);
    expect(readdirSync(folder)).toEqual(['new-00000000000000aa.sock']);
    other.kill('SIGKILL');
    await once(other, 'exit');
    await release(await lockFolder(folder));
    expect(readdirSync(folder)).toEqual([]);
  });

  test('takes no notice of files that are none, and works in a folder with a long path', async () => {
    const folder = join(freshFolder(), 'long'.repeat(40));
    const lock = await lockFolder(folder);
    writeFileSync(join(folder, 'lock-of-mine.sock'), '');
    expect(lock.kind).toBe('held');
    expect((await lockFolder(folder)).kind).toBe('taken');
    await release(lock);
    expect(readdirSync(folder)).toEqual(['lock-of-mine.sock']);
  });

  test('ends even if its socket cannot be removed', async () => {
    const folder = freshFolder();
    const lock = await lockFolder(folder);
    const [socket = ''] = readdirSync(folder);
    rmSync(join(folder, socket));
    mkdirSync(join(folder, socket));
    await release(lock);
    rmSync(join(folder, socket), { recursive: true });
    const next = await lockFolder(folder);
    expect(next.kind).toBe('held');
    await release(next);
  });

  test('that cannot be had says why', async () => {
    const file = join(freshFolder(), 'file');
    writeFileSync(file, '');
    expect(await lockFolder(join(file, 'below'))).toMatchObject({
      kind: 'impossible',
      reason: expect.stringContaining('ENOTDIR'),
    });
  });
});

describe('the folder of --state-dir', () => {
  test('is refused to the second, who is told of it once', async () => {
    const [path, log] = [freshFolder(), createTestLog()];
    const ours = await openStateFolder(path, log);
    expect(ours).toMatchObject({ path });
    expect(log.lines).toEqual([]);
    expect(await openStateFolder(path, log)).toBeUndefined();
    expect(log.lines).toMatchObject([{ level: 'warn', message: expect.stringContaining('another Upkeep') }]);
    await ours?.close();
  });

  test('is used without a lock where there can be none, and that is said', async () => {
    const file = join(freshFolder(), 'file');
    writeFileSync(file, '');
    const log = createTestLog();
    expect(await openStateFolder(file, log)).toMatchObject({ path: file });
    expect(log.lines).toMatchObject([{ level: 'warn', message: expect.stringContaining('Cannot lock the folder') }]);
  });
});
