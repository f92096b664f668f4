import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createTestLog } from '../../../../test/support/test-log.ts';
import { watchFiles } from './auth.ts';

test('a file that cannot be looked at any more keeps its former content, with one warning', () => {
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-watched-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'token');
  writeFileSync(path, 'old');
  const log = createTestLog();
  const content = watchFiles([path], { read: ([text]) => text, log });
  rmSync(path);
  symlinkSync(path, path);
  expect([content(), content()]).toEqual(['old', 'old']);
  expect(log.lines.map(({ level }) => level)).toEqual(['warn']);
  rmSync(path);
  writeFileSync(path, 'new');
  expect(content()).toBe('new');
});

test.each([
  ['a pipe', (path: string) => void execFileSync('mkfifo', [path])],
  ['a folder', (path: string) => mkdirSync(path)],
  ['a device', (path: string) => symlinkSync('/dev/zero', path)],
  ['a file larger than 1 MiB', (path: string) => writeFileSync(path, 'x'.repeat(1024 * 1024 + 1))],
  ['nothing', () => undefined],
])('%s in place of the file is not read, and what is to be used instead is, with one error line', (_, make) => {
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-watched-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'token');
  writeFileSync(path, 'old');
  const log = createTestLog();
  const instead = { content: 'instead', message: 'It cannot be used' };
  const content = watchFiles([path], { read: ([text]) => text, log, instead });
  expect(content()).toBe('old');
  rmSync(path);
  make(path);
  expect([content(), content()]).toEqual(['instead', 'instead']);
  rmSync(path, { recursive: true, force: true });
  expect(content()).toBe('instead');
  expect(log.lines.map(({ level, message }) => [level, message])).toEqual([['error', 'It cannot be used']]);
  writeFileSync(path, 'new');
  expect(content()).toBe('new');
});
