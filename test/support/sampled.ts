import { createHash } from 'node:crypto';

/**
 * Whether this run includes the point with this number. A push runs one point in `of`, drawn by its commit
 * (`TEST_DRAW`, set by `npm test`), so that over time all points run. Without a draw every point runs.
 */
export function isSampled(number: number, of: number): boolean {
  const draw = process.env['TEST_DRAW'] ?? 'all';
  if (draw === 'all') return true;
  const turn = createHash('sha256').update(draw).digest().readUInt32BE(0);
  return (number + turn) % of === 0;
}
