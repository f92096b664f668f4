import type { TestContext } from 'vitest';

/** Skips a test with a reason that also stands in the JSON report, from where `npm run test:engines` prints it. */
export function skipBecause({ task, skip }: TestContext, reason: string): never {
  Object.assign(task.meta, { reason });
  return skip(reason);
}
