import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** Every row of the page names tests that exist. */
const page = new URL('../../docs/failures.md', import.meta.url);

const [failures = '', pitfalls = ''] = readFileSync(page, 'utf8').split('## Pitfalls');
const rows = [
  ...rowsOf(failures).map((row) => ({ ...row, title: `failure ${row.number}:` })),
  ...rowsOf(pitfalls).map((row) => ({ ...row, title: `pitfall ${row.number}:` })),
];

test('every failure and every pitfall has a row, in order', () => {
  expect(rowsOf(failures).map(({ number }) => number)).toEqual(Array.from({ length: 41 }, (_, index) => index + 1));
  expect(rowsOf(pitfalls).map(({ number }) => number)).toEqual(Array.from({ length: 24 }, (_, index) => index + 1));
});

test.each(rows)('$title has its tests where the page says', ({ title, files }) => {
  expect(files).not.toEqual([]);
  for (const file of files) expect(readFileSync(new URL(file, page), 'utf8'), file).toMatch(`'${title} `);
});

function rowsOf(text: string): { readonly number: number; readonly files: readonly string[] }[] {
  return [...text.matchAll(/^\| (\d+) \|.*$/gm)].map(([line, number]) => ({
    number: Number(number),
    files: [...line.matchAll(/\]\(([^)]+\.test\.ts)\)/g)].map(([, file = '']) => file),
  }));
}
