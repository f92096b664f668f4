import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';

/**
 * `share` of the keys, rounded up, in their order: those with a turn first, then by a hash of the seed, so that over
 * many seeds each key is drawn equally often. A fixed number keeps the time of a push the same.
 */
export function draw({ seed, keys, share, hasTurn }) {
  const place = (key) => `${hasTurn(key) ? 0 : 1} ${createHash('sha256').update(`${seed} ${key}`).digest('hex')}`;
  const places = new Map(keys.map((key) => [key, place(key)]));
  const byPlace = keys.toSorted((a, b) => (places.get(a) < places.get(b) ? -1 : 1));
  const drawn = new Set(byPlace.slice(0, Math.ceil(keys.length * share)));
  return keys.filter((key) => drawn.has(key));
}

/**
 * The commit, so that a repeated test of a push runs the same files; `TEST_DRAW` repeats the draw of another commit.
 */
export function seedOfThisPush(root) {
  const given = process.env.TEST_DRAW;
  if (given) return given;
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  } catch {
    return 'no commit';
  }
}
