import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { closeLines, syncFolder } from './line-file.ts';

test.runIf(existsSync('/proc/self'))('a folder of a file system that cannot sync folders is no failure', async () => {
  await expect(syncFolder('/proc/self')).resolves.toBeUndefined();
});

test('a folder that does not exist is a failure', async () => {
  await expect(syncFolder('/nowhere/at/all')).rejects.toThrow('ENOENT');
});

test('a file that cannot be closed is no failure, because its lines are synced', async () => {
  const handle = { close: () => Promise.reject(new Error('EIO')) };
  await expect(closeLines({ handle })).resolves.toBeUndefined();
});
