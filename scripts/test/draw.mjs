import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';

/** Whether this key is among those of the seed, of which there are about `share` of all. */
export function isDrawn({ seed, key, share }) {
  const hash = createHash('sha256').update(`${seed} ${key}`).digest();
  return hash.readUInt32BE(0) / 2 ** 32 < share;
}

/** The commit, so that a push that is tested again runs the same; `TEST_DRAW` repeats the draw of another one. */
export function seedOfThisPush(root) {
  const given = process.env.TEST_DRAW;
  if (given) return given;
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  } catch {
    return 'no commit';
  }
}
