import { describe, expect, test } from 'vitest';
import { fixtureTable } from '../../../test/support/fixture-table.ts';
import { labelNames } from './table/service-options.ts';
import { describeUnknownLabel } from './effective-settings.ts';

describe('describeUnknownLabel()', () => {
  test.each(fixtureTable('label-typos.txt'))('of %s: %s', (label = '', meant = '') => {
    expect(describeUnknownLabel(label)).toBe(expected(label, meant));
  });

  test.each(labelNames)('keeps silent about %s under both prefixes', (name) => {
    expect(describeUnknownLabel(`upkeep.${name}`)).toBeUndefined();
    expect(describeUnknownLabel(`com.centurylinklabs.watchtower.${name}`)).toBeUndefined();
  });

  test('shows a hostile name short and escaped', () => {
    const sentence = describeUnknownLabel(`upkeep.\u001b[2J${'x'.repeat(2 ** 20)}`);
    expect(sentence).toMatch(/^Label "upkeep\.\\x1b\[2Jx+…" is not known$/);
    expect(sentence?.length).toBeLessThan(150);
  });
});

function expected(label: string, meant: string): string | undefined {
  if (meant === 'ok') return undefined;
  return meant === '-' ? `Label "${label}" is not known` : `Label "${label}" is not known; did you mean "${meant}"?`;
}
