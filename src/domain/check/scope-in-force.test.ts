import { expect, test } from 'vitest';
import { containerSummary } from '../../../test/support/scene/builders.ts';
import { scopeInForce } from './scope-in-force.ts';

const imageLabelsOf = () => ({});
const updater = containerSummary('updater', { labels: { 'com.centurylinklabs.watchtower.scope': 'blue' } });
const containers = [containerSummary('web', { labels: { 'upkeep.scope': 'green' } }), updater];

test.each<readonly [scope: string | undefined, ownId: string | undefined, expected: string]>([
  [undefined, updater.id, 'blue'],
  [undefined, undefined, ''],
  [undefined, 'f'.repeat(64), ''],
  ['red', updater.id, 'red'],
  ['none', updater.id, ''],
  ['', updater.id, ''],
])('scopeInForce() of %j, own container %j: %j', (scope, ownId, expected) => {
  expect(scopeInForce({ scope, ownId, containers, imageLabelsOf })).toBe(expected);
});

test("a label of the updater's own container that says none means unscoped", () => {
  const own = containerSummary('updater', { labels: { 'upkeep.scope': 'none' } });
  expect(scopeInForce({ scope: undefined, ownId: own.id, containers: [own], imageLabelsOf })).toBe('');
});
