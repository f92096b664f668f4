import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readTarget } from './targets.ts';

const lines = readFileSync(new URL('../../../test/fixtures/shoutrrr-urls.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => /^[+-] /.test(line))
  .map((line) => {
    const [, theirs = '', wanted = '', url = '', why = ''] = /^([+-]) ([+!-]) (.*?)(?: # (.*))?$/.exec(line) ?? [];
    return { theirs, wanted, url, why };
  });

describe('a URL of Shoutrrr', () => {
  test.each(lines)('$wanted $url', ({ wanted, url }) => {
    const read = readTarget(url);
    if (read.kind !== 'usable') return expect('-').toBe(wanted);
    const { unknownKeys, faults } = read.read;
    return expect(unknownKeys.length + faults.length > 0 ? '!' : '+').toBe(wanted);
  });

  test('has the same verdict, or a reason', () => {
    const others = lines.filter(({ theirs, wanted }) => theirs !== wanted);
    expect(others.filter(({ why }) => why === '')).toEqual([]);
    expect(others.length).toBeLessThan(lines.length / 5);
    expect(lines.filter(({ theirs, wanted, why }) => theirs === wanted && why !== '')).toEqual([]);
  });
});
