import { expect, test } from 'vitest';
import { isBehindHealthCheck } from './points.ts';

const of = [
  'POST /v1.41/images/create?fromImage=web&tag=stable',
  'POST /v1.41/containers/create?name=web.upkeep-new',
  'POST /v1.41/containers/ID/stop?t=10',
  'POST /v1.41/containers/ID/start',
  'POST /v1.41/containers/ID/exec',
  'POST /v1.41/exec/ID/start',
  'POST /v1.41/containers/ID/rename?name=start',
  'POST /v1.41/containers/ID/kill?signal=SIGKILL',
  'DELETE /v1.41/containers/ID',
];

test('a call is behind a health check when the one before it lets a container go on', () => {
  const behind = of
    .map((_, index) => index + 1)
    .filter((change) => isBehindHealthCheck({ change, of, overlaps: false }));
  expect(behind).toEqual([4, 5, 7, 9]);
});

test('a call that overlaps the one before it is behind a health check', () => {
  expect(isBehindHealthCheck({ change: 2, of, overlaps: true })).toBe(true);
});
