import type { TestContext } from 'vitest';

/** Skips a test with a reason. The reason is also in the JSON report, which `npm run test:engines` prints. */
export function skipBecause({ task, skip }: TestContext, reason: string): never {
  Object.assign(task.meta, { reason });
  return skip(reason);
}
