import { spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSeal } from './seal.ts';

let folder = '';
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'seal-'))));
afterEach(() => rmSync(folder, { recursive: true }));

test('without a file and a folder there is no seal', () => {
  expect(openSeal({ keyFile: undefined, folder: undefined })).toBeUndefined();
});

test('in a folder the key is made once, for the owner alone, and is the same for the next process', () => {
  const state = join(folder, 'state');
  const first = openSeal({ keyFile: undefined, folder: state });
  const second = openSeal({ keyFile: undefined, folder: state });
  expect(statSync(join(state, 'journal.key')).mode & 0o777).toBe(0o600);
  expect(second?.verify('text', first?.sign('text') ?? '')).toBe(true);
});

test('a key that another process is about to write is awaited, and an empty file is refused', async () => {
  const file = join(folder, 'journal.key');
  writeFileSync(file, '');
  const key = 'k'.repeat(32);
  const writer = spawn('sh', ['-c', `sleep 0.1; echo ${key} > "$0"`, file]);
  const ended = new Promise((resolve) => writer.once('close', resolve));
  const seal = openSeal({ keyFile: undefined, folder });
  expect(seal?.sign('text')).toBe(openSeal({ keyFile: file, folder: undefined })?.sign('text'));
  await ended;
  writeFileSync(file, '');
  expect(() => openSeal({ keyFile: undefined, folder })).toThrow('it is empty');
});

test('a seal is of one key and one text, and may be cut to 32 digits but not shorter', () => {
  const [one, other] = ['one', 'other'].map((name) => openSeal({ keyFile: undefined, folder: join(folder, name) }));
  const seal = one?.sign('text') ?? '';
  expect(seal).toMatch(/^[0-9a-f]{64}$/);
  expect(one?.verify('text', seal.slice(0, 32))).toBe(true);
  expect(one?.verify('text', seal.slice(0, 31))).toBe(false);
  expect(one?.verify('text', `${seal.slice(0, 31)}x`)).toBe(false);
  expect(one?.verify('text', `${seal}00`)).toBe(false);
  expect(one?.verify('other text', seal)).toBe(false);
  expect(other?.verify('text', seal)).toBe(false);
  expect(one?.verify('text', '')).toBe(false);
});

test.each([
  ['is not there', () => undefined, /no such file.*/],
  ['is empty', (file: string) => writeFileSync(file, ' \n'), /it is empty$/],
  ['is short', (file: string) => writeFileSync(file, 'secret'), /it has fewer than 16 characters$/],
  ['is a folder', (file: string) => mkdirSync(file), /illegal operation on a directory/],
])('a named key that %s is refused, and not shown', (_, make, why) => {
  const keyFile = join(folder, 'key');
  make(keyFile);
  const open = () => openSeal({ keyFile, folder: undefined });
  expect(open).toThrow(/^Cannot (?:read|use) the journal key/);
  expect(open).toThrow(why);
  expect(open).not.toThrow(/secret/);
});

test('a key in place of the name of its file is not shown', () => {
  const key = 'c'.repeat(64);
  expect(() => openSeal({ keyFile: key, folder: undefined })).toThrow(
    expect.objectContaining({
      message: 'Cannot read the journal key: ENOENT: no such file or directory',
      remedy: 'give the path of a file, not its content',
    }) as Error,
  );
});

test('a key of the owner is read as it is, but for the end of its line', () => {
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, 'a key of sixteen or more\n');
  const seal = openSeal({ keyFile, folder: undefined })?.sign('text') ?? '';
  writeFileSync(keyFile, 'a key of sixteen or more');
  expect(openSeal({ keyFile, folder })?.verify('text', seal)).toBe(true);
  expect(() => readFileSync(join(folder, 'journal.key'))).toThrow('ENOENT');
});

test.skipIf(process.getuid?.() === 0)('a folder that cannot be written to is told', () => {
  chmodSync(folder, 0o500);
  expect(() => openSeal({ keyFile: undefined, folder })).toThrow(/^Cannot make the journal key/);
});

test.skipIf(process.getuid?.() === 0)('a key of another user is kept, not made anew', () => {
  const keyFile = join(folder, 'journal.key');
  writeFileSync(keyFile, 'k'.repeat(32), { mode: 0 });
  for (const place of [
    { keyFile: undefined, folder },
    { keyFile, folder: undefined },
  ])
    expect(() => openSeal(place)).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/^Cannot read the journal key.*: EACCES: permission denied$/) as string,
        remedy: 'keep this file, and give it to the user that Upkeep runs as',
      }) as Error,
    );
});

test.skipIf(process.getuid?.() !== 0)('a key that root makes belongs to the owner of the folder', () => {
  chownSync(folder, 1000, 1001);
  openSeal({ keyFile: undefined, folder });
  expect(statSync(join(folder, 'journal.key'))).toMatchObject({ uid: 1000, gid: 1001 });
});

test('a link in the folder is not followed, but a key that is named may be one', () => {
  const elsewhere = join(folder, 'elsewhere');
  writeFileSync(elsewhere, 'k'.repeat(32));
  symlinkSync(elsewhere, join(folder, 'journal.key'));
  expect(() => openSeal({ keyFile: undefined, folder })).toThrow(/it is a link, which is not followed/);
  expect(openSeal({ keyFile: join(folder, 'journal.key'), folder: undefined })).toBeDefined();
});
