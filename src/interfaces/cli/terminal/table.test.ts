import type { Cell } from './cell.ts';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { containerColumns } from '../render/container-table.ts';
import { createStyle } from './style.ts';
import { layoutTable } from './table.ts';
import { displayWidth } from './width.ts';

const style = createStyle(false);
const cell = (text: string): Cell => ({ text, style: 'bold' });
const rows = [
  ['web', 'nginx:1.27', 'update available', 'A newer image of "nginx:1.27" is available'],
  ['a-long-name-of-a-container', 'registry.example.com/team/project/service:2026.11', 'up to date', ''],
].map((row) => row.map(cell));

describe('layoutTable()', () => {
  test('gives every column what it needs where there is room', () => {
    expect(lines(Number.POSITIVE_INFINITY)).toEqual([
      'CONTAINER                   IMAGE                                              STATUS            WHY',
      'web                         nginx:1.27                                         update available  A newer image of "nginx:1.27" is available',
      'a-long-name-of-a-container  registry.example.com/team/project/service:2026.11  up to date',
    ]);
  });

  test('takes from the widest column first, and keeps the end of an image', () => {
    expect(lines(100)).toEqual([
      'CONTAINER                   IMAGE                       STATUS            WHY',
      'web                         nginx:1.27                  update available  A newer image of "nginx:1…',
      'a-long-name-of-a-container  …m/project/service:2026.11  up to date',
    ]);
  });

  test('continues a long reason in further lines where it is asked to', () => {
    expect(lines(80, 'wrap').slice(0, 4)).toEqual([
      'CONTAINER            IMAGE                STATUS            WHY',
      'web                  nginx:1.27           update available  A newer image of',
      '                                                            "nginx:1.27" is',
      '                                                            available',
    ]);
  });

  test.each([
    [70, ['CONTAINER', 'IMAGE', 'STATUS', 'WHY']],
    [50, ['CONTAINER', 'IMAGE', 'STATUS']],
    [30, ['CONTAINER', 'STATUS']],
    [15, ['CONTAINER']],
  ])('at %i columns shows %j', (width, titles) => {
    expect(lines(width)[0]?.split(/ +/)).toEqual(titles);
  });

  test('no line is wider than asked for, whatever the cells and the width', () => {
    const anyRow = fc.array(
      fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => cell(text.replaceAll(/\p{C}/gu, ''))),
      { minLength: 4, maxLength: 4 },
    );
    fc.assert(
      fc.property(
        fc.array(anyRow, { maxLength: 5 }),
        fc.integer({ min: 1, max: 120 }),
        fc.constantFrom('cut' as const, 'wrap' as const),
        (cells, width, overflow) => {
          // A character of two columns does not fit into one.
          for (const line of layoutTable({ columns: containerColumns, rows: cells }, { width, overflow, style }))
            expect(displayWidth(line)).toBeLessThanOrEqual(Math.max(2, width));
        },
      ),
    );
  });
});

function lines(width: number, overflow: 'cut' | 'wrap' = 'cut'): readonly string[] {
  return layoutTable({ columns: containerColumns, rows }, { width, overflow, style });
}
