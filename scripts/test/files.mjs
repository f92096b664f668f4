import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

/** Paths of the test files in a folder, from the root of the project. */
export function filesOf(folder, ending = '.test.ts') {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`)
    .sort();
}

/** Test files that the last commit changed; none if that is unknown. */
export function changedFiles() {
  try {
    const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    return execFileSync('git', ['diff', '--name-only', 'HEAD~1', 'HEAD'], options).split('\n').filter(Boolean);
  } catch {
    return [];
  }
}
