import { readFileSync } from 'node:fs';

/**
 * The rows of a table in `test/fixtures/`: columns separated by `|`, with spaces around them dropped.
 * A `#` line is a comment, `{a*64}` means 64 times `a`, and a single `-` means no value.
 */
export function fixtureTable(name: string): readonly (readonly string[])[] {
  const text = readFileSync(new URL(`../fixtures/${name}`, import.meta.url), 'utf8');
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
  return lines.map((line) => line.split('|').map((cell) => expand(cell.trim())));
}

function expand(cell: string): string {
  return cell.replaceAll(/\{(.+?)\*(\d+)\}/g, (_, text: string, count: string) => text.repeat(Number(count)));
}
