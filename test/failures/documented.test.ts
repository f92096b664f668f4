import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** Every row of the page names tests that exist. */
const page = new URL('../../docs/failures.md', import.meta.url);

const [failures = '', setups = '', pitfalls = ''] = readFileSync(page, 'utf8').split(/^## (?:Pitfalls|Set-ups)$/m);
const rows = [
  ...rowsOf(failures).map((row) => ({ ...row, title: `failure ${row.number}:` })),
  ...rowsOf(pitfalls).map((row) => ({ ...row, title: `pitfall ${row.number}:` })),
  ...setupsOf(setups),
];

test('every failure and every pitfall has a row, in order', () => {
  expect(rowsOf(failures).map(({ number }) => number)).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
  expect(rowsOf(pitfalls).map(({ number }) => number)).toEqual(Array.from({ length: 24 }, (_, index) => index + 1));
});

test('every set-up has a name of its own', () => {
  const titles = setupsOf(setups).map(({ title }) => title);
  expect(titles.length).toBeGreaterThan(20);
  expect(new Set(titles).size).toBe(titles.length);
});

test.each(rows)('$title has its tests where the page says', ({ title, files }) => {
  expect(files).not.toEqual([]);
  for (const file of files) expect(readFileSync(new URL(file, page), 'utf8'), file).toMatch(`'${title} `);
});

function rowsOf(text: string): { readonly number: number; readonly files: readonly string[] }[] {
  return [...text.matchAll(/^(\d+)\. .*$/gm)].map(([line, number]) => ({
    number: Number(number),
    files: filesIn(line),
  }));
}

/** A row begins with its name, in bold. */
function setupsOf(text: string): { readonly title: string; readonly files: readonly string[] }[] {
  return [...text.matchAll(/^- \*\*(.+?):\*\* .*$/gm)].map(([line, name]) => ({
    title: `set-up ${name}:`,
    files: filesIn(line),
  }));
}

function filesIn(line: string): readonly string[] {
  return [...line.matchAll(/\]\(([^)]+\.test\.ts)\)/g)].map(([, file = '']) => file);
}
