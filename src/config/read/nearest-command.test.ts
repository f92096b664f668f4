import { expect, test } from 'vitest';
import { nearestCommand } from './nearest-command.ts';

test.each([
  ['logs', 'events'],
  ['Logs', 'events'],
  ['upgrade', 'update'],
  ['updates', 'update'],
  ['container', 'containers'],
  ['rollbak', 'rollback'],
  ['completions', 'completion'],
  ['documentation', undefined],
  ['nginx', undefined],
])('nearestCommand(%j) is %j', (word, expected) => {
  expect(nearestCommand(word)).toBe(expected);
});
