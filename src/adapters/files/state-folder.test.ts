import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createTestLog } from '../../../test/support/test-log.ts';
import { lockFolder } from './folder-lock.ts';
import { openStateFolder } from './state-folder.ts';

const parent = mkdtempSync(join(tmpdir(), 'upkeep-state-'));
afterAll(() => rmSync(parent, { recursive: true }));

test('a folder that is not locked in time is left alone, and its late lock is released', async () => {
  const first = await lockFolder(parent);
  const log = createTestLog();
  // The attempts take longer than a millisecond while another process has the lock.
  expect(await openStateFolder(parent, log, 1)).toBeUndefined();
  expect(log.lines).toMatchObject([
    {
      level: 'warn',
      message: expect.stringMatching(
        /^Nothing is kept in the folder ".*" of --state-dir: its disk does not answer; check it, or name another folder$/,
      ) as unknown,
    },
  ]);
  if (first.kind === 'held') await first.release();
  const second = await lockFolder(parent, 100);
  expect(second.kind).toBe('held');
  if (second.kind === 'held') await second.release();
});
