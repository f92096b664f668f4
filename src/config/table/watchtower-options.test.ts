import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { variablesOf } from './environment.ts';
import type { Option } from './option.ts';
import { optionEntries } from './options.ts';

const family = readFileSync(new URL('./watchtower-options.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split(' '));

test.each(family)('%s (%s, %s) is known, with the same kind and default', (flag, short, variable, kind, standing) => {
  const found = optionEntries.map(([, option]) => option).filter((option) => isNamed(option, flag, variable));
  expect(found).toHaveLength(1);
  const [option] = found;
  expect(option?.flag === undefined ? '-' : `--${option.flag}`).toBe(flag);
  expect(option?.short === undefined ? '-' : `-${option.short}`).toBe(short);
  expect(option?.kind).toBe(kind);
  expect(defaultOf(option)).toBe(standing);
});

/** A flag and a variable of the same option; a pair of different options is a mistake. */
function isNamed(option: Option, flag: string | undefined, variable: string | undefined): boolean {
  const names = variablesOf(option).map(({ name }) => name);
  const hasVariable = variable === '-' || names.includes(variable ?? '');
  return hasVariable && (flag === '-' ? option.flag === undefined : `--${option.flag}` === flag);
}

function defaultOf(option: Option | undefined): string | undefined {
  const value = option?.default;
  return value === undefined || (Array.isArray(value) && value.length === 0)
    ? undefined
    : `${value as string | number | boolean}`;
}
