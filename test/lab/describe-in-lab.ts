import { describe, test } from 'vitest';
import { lab } from './lab.ts';
import type { Lab } from './lab.ts';

/**
 * `describe()` for tests that need the lab. Outside of it they are skipped with a notice. With `CI=true` they fail
 * instead, so that a CI cannot pass without testing.
 */
export function describeInLab(name: string, suite: (lab: Lab) => void): void {
  if (lab) {
    const here = lab;
    describe(name, () => suite(here));
  } else if (process.env['CI'] === 'true') {
    test(`${name} (needs the lab)`, () => {
      throw new Error('Cannot run outside the lab: see test/lab/README.md');
    });
  } else {
    console.warn(`NOTICE: "${name}" is skipped: it needs the lab, see test/lab/README.md`);
    describe.skip(name, () => test('needs the lab', () => {}));
  }
}
