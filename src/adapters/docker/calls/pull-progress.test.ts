import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPullProgress } from './pull-progress.ts';

const numbers = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(-1, 1e308, '7', null));
const lines = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.record({
    id: fc.constantFrom('a', 'b', '__proto__', ''),
    status: fc.constantFrom('Downloading', 'Download complete', 'Pull complete', 'Already exists', 'Extracting', 'x'),
    progressDetail: fc.record({ current: numbers, total: numbers }),
  }),
);

test('createPullProgress() tells sums that make sense, whatever the engine reports', () => {
  fc.assert(
    fc.property(fc.array(lines, { maxLength: 30 }), (report) => {
      const progress = createPullProgress();
      for (const line of report) progress.take(line);
      const { layers, layersDone, bytes, totalBytes } = progress.sum();
      expect(layersDone).toBeGreaterThanOrEqual(0);
      expect(layersDone).toBeLessThanOrEqual(layers);
      expect(bytes).toBeGreaterThanOrEqual(-1e-3);
      expect(bytes).toBeLessThanOrEqual(totalBytes + 1e-3);
      expect(Number.isFinite(totalBytes)).toBe(true);
    }),
  );
});
