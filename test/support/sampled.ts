import { createHash } from 'node:crypto';

/**
 * Whether it is the turn of the point with this number. A push runs one point in `of`, and which one its commit
 * decides (`TEST_DRAW`, set by `npm test`): over time all of them run. Without a draw every point has its turn.
 */
export function isSampled(number: number, of: number): boolean {
  const draw = process.env['TEST_DRAW'] ?? 'all';
  if (draw === 'all') return true;
  const turn = createHash('sha256').update(draw).digest().readUInt32BE(0);
  return (number + turn) % of === 0;
}
