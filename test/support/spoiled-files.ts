import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync, chownSync } from 'node:fs';

/** A file of `--state-dir` that cannot be read: what it becomes, and the reason in the program's words. */
export type SpoiledFile = readonly [what: string, spoil: (path: string) => void, why: string];

const notWritten = 'it was written by a newer version or another program';
const notRegular = 'it is no regular file';
const notFollowed = 'it is a link, which is not followed';

/** Each keeps the owner of the file, so that nothing but its kind is wrong. */
export const spoiledFiles: readonly SpoiledFile[] = [
  [
    'is of a newer version',
    (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('"version":1', '"version":9')),
    notWritten,
  ],
  ['is of another program', (path) => writeFileSync(path, '{"file":"shopping list"}\n'), notWritten],
  ['is a folder', (path) => replace(path, () => mkdirSync(path)), notRegular],
  ['is a pipe', (path) => replace(path, () => execFileSync('mkfifo', [path])), notRegular],
  [
    'is a link',
    (path) => {
      renameSync(path, `${path}.1`);
      symlinkSync(`${path}.1`, path);
    },
    notFollowed,
  ],
  [
    'is a link to nothing',
    (path) => {
      rmSync(path);
      symlinkSync('/nowhere/x', path);
    },
    notFollowed,
  ],
];

function replace(path: string, make: () => unknown): void {
  const { uid, gid } = statSync(path);
  rmSync(path);
  make();
  if (process.getuid?.() === 0) chownSync(path, uid, gid);
}
