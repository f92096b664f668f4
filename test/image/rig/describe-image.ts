import { describe, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { Lab } from '../../lab/lab.ts';
import { missing } from './needs.ts';

/** `describeInLab()` for tests that build the image. Additional requirements are fetched before the lab starts. */
export function describeImage(name: string, suite: (lab: Lab) => void): void {
  const reason = `it needs ${missing.join(', ')}, which "node test/image/rig/install.mjs" fetches`;
  if (missing.length === 0) {
    describeInLab(name, suite);
  } else if (process.env['CI'] === 'true') {
    test(name, () => {
      throw new Error(`Cannot run: ${reason}`);
    });
  } else {
    console.warn(`NOTICE: "${name}" is skipped: ${reason}`);
    describe.skip(name, () => test(reason, () => {}));
  }
}
