import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/**
 * For all projects. A limit of a test ends one that hangs, and judges nothing: several suites at once on a small
 * machine take five times as long as one alone. The usual second of a poll is too short there; 10 s are less than the
 * page needs to read again.
 */
const common = {
  setupFiles: ['test/support/draw-cases.ts'],
  expect: { poll: { timeout: 10_000 } },
  testTimeout: 900_000,
  hookTimeout: 900_000,
};

/** Tests that share the lab's engine take turns; what they wait for takes real time. */
const inLab = { ...common, fileParallelism: false };

/**
 * One project per kind of test. `unit` needs nothing but Node; the others want the lab, which
 * `npm test` and `npm run lab` bring up: test/lab/README.md.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'src/**/*.test.ts',
            'sandbox/**/*.test.ts',
            'test/*.test.ts',
            'test/{support,lab,golden}/**/*.test.ts',
          ],
          // A process for each of so many small files costs more than twice the tests themselves.
          isolate: false,
          pool: 'threads',
          maxWorkers: availableParallelism(),
          ...common,
        },
      },
      { test: { name: 'contract', include: ['test/contract/**/*.test.ts'], ...inLab } },
      { test: { name: 'conformance', include: ['test/conformance/**/*.test.ts'], ...inLab } },
      { test: { name: 'fuzz', include: ['test/fuzz/**/*.fuzz.ts'], ...inLab } },
      { test: { name: 'browser', include: ['test/browser/**/*.test.ts'], ...inLab } },
      { test: { name: 'screenshots', include: ['test/browser/screenshots.ts'], ...inLab } },
      { test: { name: 'proxies', include: ['test/proxies/**/*.test.ts'], ...inLab } },
      { test: { name: 'notify', include: ['test/notify/**/*.test.ts'], ...common } },
      { test: { name: 'faults', include: ['test/faults/**/*.test.ts'], ...inLab } },
      {
        test: {
          name: 'failures',
          include: ['test/failures/**/*.test.ts'],
          ...inLab,
          // For concurrent tests, which mostly wait.
          maxConcurrency: 12,
        },
      },
      { test: { name: 'swarm', include: ['test/swarm/**/*.test.ts'], ...inLab } },
      { test: { name: 'campaigns', include: ['test/faults/campaign.ts'], ...inLab } },
      { test: { name: 'bench', include: ['test/bench/**/*.bench.ts'], ...inLab } },
      {
        test: {
          name: 'image',
          include: ['test/image/**/*.test.ts'],
          ...inLab,
          // They build images, for which npm fetches all packages.
          hookTimeout: 1_800_000,
        },
      },
      { test: { name: 'integration', include: ['test/integration/**/*.test.ts'], ...inLab } },
    ],
  },
});
