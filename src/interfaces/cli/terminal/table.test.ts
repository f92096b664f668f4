import { createStyle, type Cell } from './style.ts';
import { layoutTable, displayWidth } from './table.ts';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { containerColumns } from '../render/container-table.ts';

const style = createStyle(false);
const cell = (text: string): Cell => ({ text, style: 'bold' });
const rows = [
  ['web', 'update ready', '1.27.3 → 1.27.4', '2d ago', 'nginx:1.27', ''],
  [
    'a-long-name-of-a-container',
    'held back',
    '',
    '',
    'registry.example.com/team/project/service:2026.11',
    'Monitored only',
  ],
].map((row) => row.map(cell));

describe('layoutTable()', () => {
  test('gives every column what it needs where there is room', () => {
    expect(lines(Number.POSITIVE_INFINITY)).toEqual([
      'CONTAINER                   STATUS        VERSION          RELEASED  IMAGE                                              WHY',
      'web                         update ready  1.27.3 → 1.27.4  2d ago    nginx:1.27',
      'a-long-name-of-a-container  held back                                registry.example.com/team/project/service:2026.11  Monitored only',
    ]);
  });

  test('takes from the widest column first, and keeps the end of an image', () => {
    expect(lines(110)).toEqual(
      [
        'CONTAINER                   STATUS        VERSION          RELEASED  IMAGE                 WHY',
        'web                         update ready  1.27.3 → 1.27.4  2d ago    nginx:1.27',
        'a-long-name-of-a-container  held back                                …ject/service:2026.11  Monitored only',
      ].map((line) => expect.stringMatching(/^(?:CONTAINER|web|a-long)/.exec(line)?.[0] ?? '')),
    );
    for (const line of lines(110)) expect(line.length).toBeLessThanOrEqual(110);
    expect(lines(110)[2]).toContain('…');
    expect(lines(110)[2]).toContain('service:2026.11');
  });

  test.each([
    [130, ['CONTAINER', 'STATUS', 'VERSION', 'RELEASED', 'IMAGE', 'WHY']],
    [50, ['CONTAINER', 'STATUS', 'VERSION', 'RELEASED']],
    [30, ['CONTAINER', 'STATUS']],
    [15, ['CONTAINER']],
  ])('cut to %i columns shows %j', (width, titles) => {
    expect(lines(width)[0]?.trim().split(/ +/)).toEqual(titles);
  });

  test('a column without a text is left out', () => {
    const table = { columns: containerColumns, rows: [['web', 'up to date', '', '', 'nginx:1', ''].map(cell)] };
    expect(layoutTable(table, { width: 80, overflow: 'flow', style })).toEqual([
      'CONTAINER  STATUS      IMAGE',
      'web        up to date  nginx:1',
    ]);
  });

  test('for people, what finds no room stands below its row, and a sentence always does', () => {
    expect(lines(120, 'flow')).toEqual([
      'CONTAINER                   STATUS        VERSION          RELEASED  IMAGE',
      'web                         update ready  1.27.3 → 1.27.4  2d ago    nginx:1.27',
      'a-long-name-of-a-container  held back                                registry.example.com/team/project/service:2026.11',
      '  Monitored only',
    ]);
    expect(lines(100, 'flow')).toEqual([
      'CONTAINER                   STATUS        VERSION          RELEASED  IMAGE',
      'web                         update ready  1.27.3 → 1.27.4  2d ago    nginx:1.27',
      'a-long-name-of-a-container  held back',
      '  registry.example.com/team/project/service:2026.11',
      '  Monitored only',
    ]);
  });

  test('for people, following rows with the same sentence share it', () => {
    const why = (name: string, reason: string) => [name, 'skipped', '', '', '', reason].map(cell);
    const names = Array.from({ length: 200 }, (_, number) => `web-${number}`);
    const cells = [why('db', 'Monitored only'), ...names.map((name) => why(name, 'Cancelled')), why('z', '')];
    const [, ...laid] = layoutTable({ columns: containerColumns, rows: cells }, { width: 80, overflow: 'flow', style });
    expect(laid).toHaveLength(204);
    expect(laid.slice(0, 3).map((line) => line.trim())).toEqual([
      'db         skipped',
      'Monitored only',
      'web-0      skipped',
    ]);
    expect(laid.slice(-3)).toEqual(['web-199    skipped', '  Cancelled (the 200 above)', 'z          skipped']);
  });

  test('at 60 columns nothing is lost and no word is broken', () => {
    expect(lines(60, 'flow')).toEqual([
      'CONTAINER                   STATUS        VERSION',
      'web                         update ready  1.27.3 → 1.27.4',
      '  2d ago',
      '  nginx:1.27',
      'a-long-name-of-a-container  held back',
      '  registry.example.com/team/project/service:2026.11',
      '  Monitored only',
    ]);
    expect(lines(20, 'flow').join('').replaceAll(' ', '')).toContain('a-long-name-of-a-container');
  });

  test('for people no text is lost, whatever the cells and the width', () => {
    const anyRow = fc.array(
      fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => cell(text.replaceAll(/\p{C}/gu, '').trim())),
      { minLength: 6, maxLength: 6 },
    );
    fc.assert(
      fc.property(
        fc.array(anyRow, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 2, max: 120 }),
        (cells, width) => {
          const laid = layoutTable({ columns: containerColumns, rows: cells }, { width, overflow: 'flow', style });
          const text = normal(laid.join(''));
          for (const row of cells) for (const one of row) expect(text).toContain(normal(one.text));
        },
      ),
    );
  });

  test('no line is wider than asked for, whatever the cells and the width', () => {
    const anyRow = fc.array(
      fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => cell(text.replaceAll(/\p{C}/gu, ''))),
      { minLength: 6, maxLength: 6 },
    );
    fc.assert(
      fc.property(
        fc.array(anyRow, { maxLength: 5 }),
        fc.integer({ min: 1, max: 120 }),
        fc.constantFrom('cut' as const, 'flow' as const),
        (cells, width, overflow) => {
          // A character of two or three columns does not fit into one.
          for (const line of layoutTable({ columns: containerColumns, rows: cells }, { width, overflow, style }))
            expect(displayWidth(line)).toBeLessThanOrEqual(Math.max(3, width));
        },
      ),
    );
  });
});

function lines(width: number, overflow: 'cut' | 'flow' = 'cut'): readonly string[] {
  return layoutTable({ columns: containerColumns, rows }, { width, overflow, style });
}

/** Line breaks fall on spaces, and texts are composed. */
function normal(text: string): string {
  return text.normalize().replaceAll(/\s/gu, '');
}
