import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createTestLog } from '../../../test/support/test-log.ts';
import { lockFolder } from './folder-lock.ts';
import { openStateFolder, stateIdOf, warnOfOthers } from './state-folder.ts';

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

describe('warnOfOthers()', () => {
  const dir = mkdtempSync(join(tmpdir(), 'upkeep-others-'));
  const keyFile = join(dir, 'key');
  writeFileSync(keyFile, 'k'.repeat(32));
  afterAll(() => rmSync(dir, { recursive: true }));
  const linesFor = (folderMode: number, keyMode: number, isInContainer = false) => {
    chmodSync(dir, folderMode);
    chmodSync(keyFile, keyMode);
    const log = createTestLog();
    warnOfOthers({ folder: dir, keyFile }, isInContainer, log);
    return log.lines.map(({ message }) => message);
  };

  test.each<[string, number, number, RegExp | undefined]>([
    ['is private', 0o700, 0o600, undefined],
    ['is private, with a key that only its owner may read', 0o700, 0o400, undefined],
    ['everyone may write to', 0o777, 0o600, /Other users may write to the folder .* chmod 700/],
    ['its group may write to', 0o770, 0o600, /Other users may write to the folder/],
    ['others may list', 0o755, 0o600, /Other users may read the folder/],
    ['has a key that everyone may read', 0o700, 0o644, /Other users may read the journal key .* chmod 600/],
    ['has a key that its group may write', 0o700, 0o620, /Other users may write to the journal key/],
    ['is like /tmp', 0o1777, 0o600, /Other users may write to the folder/],
  ])('a folder that %s', (_, folderMode, keyMode, expected) => {
    const lines = linesFor(folderMode, keyMode);
    if (expected === undefined) expect(lines).toEqual([]);
    else expect(lines).toEqual([expect.stringMatching(expected)]);
  });

  test("the image's own folder for any user is not reported in a container", () => {
    expect(linesFor(0o1777, 0o600, true)).toEqual([]);
    expect(linesFor(0o777, 0o600, true)).toHaveLength(1);
  });

  test('a key of --state-dir is looked at too', () => {
    writeFileSync(join(dir, 'journal.key'), 'k'.repeat(32));
    chmodSync(join(dir, 'journal.key'), 0o666);
    chmodSync(dir, 0o700);
    const log = createTestLog();
    warnOfOthers({ folder: dir, keyFile: undefined }, false, log);
    expect(log.lines.map(({ message }) => message)).toEqual([expect.stringContaining('the journal key')]);
  });
});

test.skipIf(process.getuid?.() !== 0)('the id that root has made can be read by the owner of the folder', async () => {
  const folder = mkdtempSync(join(parent, 'id-'));
  chownSync(folder, 1000, 1001);
  expect(await stateIdOf(folder, () => '0123456789abcdef')).toBe('0123456789ab');
  expect(statSync(join(folder, 'id'))).toMatchObject({ uid: 1000, gid: 1001 });
});
