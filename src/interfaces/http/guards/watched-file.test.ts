import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createTestLog } from '../../../../test/support/test-log.ts';
import { watchFiles } from './watched-file.ts';

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
