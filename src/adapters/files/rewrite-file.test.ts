import { execFile, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isTorn } from '../../domain/compose/compose-record.ts';
import { heldByEditor, keepCopy, mendFile, readCopy, rewriteFile, whyNotWritable, workTreeOf } from './rewrite-file.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'upkeep-rewrite-'));
  file = join(folder, 'compose.yaml');
});
afterEach(() => rmSync(folder, { recursive: true }));

const bytes = (text: string) => Buffer.from(text);
const long = 'x'.repeat(9000);
const changes: readonly (readonly [string, string, string])[] = [
  ['as long', `a: 1.27\n${long}`, `a: 1.28\n${long}`],
  ['longer', `a: 1.9\n${long}`, `a: 1.10.11\n${long}`],
  ['shorter', `a: 1.10.11\n${long}`, `a: 2\n${long}`],
  ['at the end', `${long}:1.9`, `${long}:1.10`],
];

describe('the replacement of a text in place', () => {
  test.each(changes)('that is %s keeps inode, mode and hard link', async (_, before, after) => {
    writeFileSync(file, before);
    chmodSync(file, 0o604);
    linkSync(file, join(folder, 'other'));
    const { ino, mode } = statSync(file);
    expect(await rewriteFile(file, bytes(before), bytes(after))).toEqual({ kind: 'written' });
    expect(readFileSync(join(folder, 'other'), 'utf8')).toBe(after);
    expect(statSync(file)).toMatchObject({ ino, mode, nlink: 2 });
  });

  test('is not made if the file has other bytes, is gone, a folder, or was replaced under its mount', async () => {
    writeFileSync(file, 'mine');
    expect(await rewriteFile(file, bytes('yours'), bytes('x'))).toEqual({ kind: 'refused', reason: 'changed' });
    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect(await rewriteFile(join(folder, 'no'), bytes(''), bytes('x'))).toMatchObject({ reason: 'missing' });
    expect(await rewriteFile(folder, bytes(''), bytes('x'))).toMatchObject({ kind: 'refused', reason: 'unreadable' });
    // A file that was mounted alone, and then replaced on the host.
    const held = await open(file, 'r');
    rmSync(file);
    expect(await rewriteFile(`/proc/self/fd/${held.fd}`, bytes('mine'), bytes('x'))).toMatchObject({ kind: 'refused' });
    await held.close();
  });
});

test('a link that took the place of a file, or of a folder above it, after it was looked up leads nowhere', async () => {
  const outside = join(folder, 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'compose.yaml'), 'a');
  symlinkSync(join(outside, 'compose.yaml'), file);
  symlinkSync(outside, join(folder, 'stack'));
  for (const path of [file, join(folder, 'stack/compose.yaml')]) {
    expect(await rewriteFile(path, bytes('a'), bytes('b'))).toMatchObject({ kind: 'refused', reason: 'unreadable' });
    expect(await whyNotWritable(path)).toBe('unreadable');
    const torn = { path, before: bytes('a'), after: bytes('b'), end: bytes('b') };
    expect(await mendFile(torn).catch(() => false)).toBe(false);
  }
  expect(readFileSync(join(outside, 'compose.yaml'), 'utf8')).toBe('a');
});

test('the work tree is known of a file that git tracks, and of no other', async () => {
  const stack = join(folder, 'stack');
  mkdirSync(stack);
  for (const name of ['compose.yaml', 'other.yaml']) writeFileSync(join(stack, name), 'a');
  expect(await workTreeOf(join(stack, 'compose.yaml'))).toBeUndefined();
  const git = (...args: readonly string[]) => promisify(execFile)('git', ['-C', folder, ...args]);
  await git('init', '-q');
  expect(await workTreeOf(join(stack, 'compose.yaml'))).toBeUndefined();
  await git('add', 'stack/compose.yaml');
  expect(await workTreeOf(join(stack, 'compose.yaml'))).toBe(folder);
  expect(await workTreeOf(join(stack, 'other.yaml'))).toBeUndefined();
});

test.skipIf(process.getuid?.() !== 0)('a file of another user is not written, and may be unreadable', async () => {
  await bundleTo(join(folder, 'rewrite.mjs'));
  writeFileSync(
    join(folder, 'run.mjs'),
    `import { rewriteFile, whyNotWritable, workTreeOf } from './rewrite.mjs';
     const path = process.argv[2];
     console.log(await whyNotWritable(path), (await rewriteFile(path, Buffer.from('a'), Buffer.from('b'))).reason);`,
  );
  chmodSync(folder, 0o755);
  writeFileSync(file, 'a');
  for (const mode of [0o644, 0o600]) {
    chmodSync(file, mode);
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'run.mjs'), file], { uid: 65_534 });
    expect(stdout).toBe('not-writable not-writable\n');
  }
  expect(readFileSync(file, 'utf8')).toBe('a');
  expect(await whyNotWritable(file)).toBeUndefined();
});

/** The code under test as a file that another process can load. */
async function bundleTo(path: string): Promise<void> {
  const input = fileURLToPath(new URL('rewrite-file.ts', import.meta.url));
  const bundle = await rolldown({ input, platform: 'node' });
  await bundle.write({ file: path, format: 'esm' });
  await bundle.close();
}

const killer = fileURLToPath(new URL('../../../test/faults/rig/file-killer.mjs', import.meta.url));

test('a mixture of two texts is told from both, and from a text that somebody has written', () => {
  const [before, after] = [bytes(`a: 1.10.11 ${long}`), bytes(`a: 2 ${long}`)];
  const filled = Buffer.concat([after, Buffer.alloc(before.length - after.length, '\n')]);
  for (const at of [0, 3, 4, 100, before.length]) {
    const mixed = Buffer.concat([filled.subarray(0, at), before.subarray(at)]);
    expect(isTorn(mixed, before, after)).toBe(true);
    expect(isTorn(Buffer.concat([mixed, bytes('z')]), before, after)).toBe(false);
    expect(isTorn(Buffer.concat([bytes('z'), mixed.subarray(1)]), before, after)).toBe(false);
  }
});

describe('a copy of the old text', () => {
  test('is kept for its owner only, and the last twenty of them', async () => {
    const copies = join(folder, 'copies');
    const ids = Array.from({ length: 23 }, (_, index) => `id-${index}`);
    for (const id of ids) await keepCopy(copies, id, bytes(`\u{feff}text of ${id}\r\n`));
    expect(readdirSync(copies)).toHaveLength(20);
    expect((await readCopy(copies, 'id-22'))?.toString()).toBe('\u{feff}text of id-22\r\n');
    expect(await readCopy(copies, 'unknown')).toBeUndefined();
    expect(statSync(join(copies, 'id-22.copy')).mode & 0o777).toBe(0o600);
    await keepCopy(copies, '../../evil', bytes('x'));
    expect(readdirSync(folder)).toEqual(['copies']);
  });

  test.skipIf(process.getuid?.() !== 0)('of root belong to the owner of the folder', async () => {
    chownSync(folder, 1000, 1001);
    const copies = join(folder, 'copies');
    await keepCopy(copies, 'a', Buffer.from('x'));
    for (const path of [copies, join(copies, 'a.copy')]) expect(statSync(path)).toMatchObject({ uid: 1000, gid: 1001 });
  });
});

test.each(['.compose.yaml.swp', '.#compose.yaml', '.git/index.lock', 'compose.yaml~lock'])(
  'a file with %s beside it is being edited',
  async (mark) => {
    writeFileSync(file, '');
    expect(await heldByEditor(file, 0)).toBeUndefined();
    mkdirSync(join(folder, '.git'));
    writeFileSync(join(folder, mark), '');
    expect(await heldByEditor(file, 0)).toBe(join(folder, mark));
  },
);

test(
  'killed at any moment of it, the file is old, new, or mended to what is wanted',
  { timeout: 120_000 },
  async () => {
    const script = join(folder, 'run.mjs');
    await bundleTo(join(folder, 'rewrite.mjs'));
    writeFileSync(
      script,
      `import { readFileSync } from 'node:fs';
     import { rewriteFile } from './rewrite.mjs';
     const [file, before, after] = process.argv.slice(2);
     await rewriteFile(file, readFileSync(before), readFileSync(after));
     console.log('whole');`,
    );
    let killed = 0;
    let torn = 0;
    for (const [, before, after] of changes) {
      for (const when of ['before', 'torn', 'after'])
        for (let at = 1; ; at += 1) {
          writeFileSync(file, before);
          writeFileSync(join(folder, 'before'), before);
          writeFileSync(join(folder, 'after'), after);
          const child = spawn(
            process.execPath,
            ['--import', killer, script, file, join(folder, 'before'), join(folder, 'after')],
            {
              env: { KILL_AT: String(at), KILL_WHEN: when, KILL_IN: 'compose.yaml' },
              stdio: ['ignore', 'pipe', 'pipe'],
            },
          );
          let told = '';
          for (const stream of [child.stdout, child.stderr])
            stream.on('data', (chunk: Buffer) => (told += chunk.toString()));
          const signal = await new Promise((resolve) => child.on('close', (_, name) => resolve(name)));
          if (signal === null) {
            expect(told).toBe('whole\n');
            break;
          }
          killed += 1;
          const left = readFileSync(file, 'utf8');
          for (const end of [before, after]) {
            writeFileSync(file, left);
            const isMended = await mendFile({
              path: file,
              before: bytes(before),
              after: bytes(after),
              end: bytes(end),
            });
            if (left === before || left === after) expect(isMended).toBe(false);
            else {
              torn += 1;
              expect(isMended, `${when} ${at}`).toBe(true);
              expect(readFileSync(file, 'utf8')).toBe(end);
            }
          }
        }
    }
    expect(killed).toBeGreaterThan(20);
    expect(torn).toBeGreaterThan(5);
  },
);
