import { expect, test } from 'vitest';
import { fuzzHttpDoor } from '../../fuzz/http-door.ts';

test('three hostile clients make the service fail nobody, and write little into its log', async () => {
  const { statuses, replies, refused, logBytesPerRefusal } = await fuzzHttpDoor({
    seconds: 4,
    seed: 12,
    connections: 10,
  });
  expect(Object.keys(statuses)).toEqual(['200']);
  expect(Object.keys(replies).filter((status) => status.startsWith('5'))).toEqual([]);
  expect(refused).toBeGreaterThan(0);
  expect(logBytesPerRefusal * refused).toBeLessThan(200_000);
});
