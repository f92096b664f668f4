import type { Cell, Column } from './cell.ts';
import { displayWidth } from './width.ts';

/**
 * The width of each column, so that all fit. Undefined for a dropped column, which also frees its gap. The widest
 * column shrinks first, so that short ones stay complete.
 */
export function columnWidths(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  room: number,
  gap: number,
): readonly (number | undefined)[] {
  const natural = columns.map((_, index) => naturalWidth(rows, index));
  const widths: (number | undefined)[] = [...natural];
  let available = room;
  for (;;) {
    shrink(widths, columns, available);
    if (sum(widths) <= available) return widths;
    const going = mostExpendable(columns, widths);
    if (going === undefined) return widths.map((width) => (width === undefined ? undefined : Math.max(1, available)));
    widths[going] = undefined;
    available += gap;
    for (const [index, width] of natural.entries()) if (widths[index] !== undefined) widths[index] = width;
  }
}

/** The width of a column's widest cell. A loop, because a call accepts only some hundred thousand arguments. */
export function naturalWidth(rows: readonly (readonly Cell[])[], column: number): number {
  let width = 0;
  for (const row of rows) width = Math.max(width, displayWidth(row[column]?.text ?? ''));
  return width;
}

function shrink(widths: (number | undefined)[], columns: readonly Column[], room: number): void {
  while (sum(widths) > room) {
    const giving = widestAboveItsMinimum(widths, columns);
    if (giving === undefined) return;
    widths[giving] = (widths[giving] ?? 0) - 1;
  }
}

function widestAboveItsMinimum(
  widths: readonly (number | undefined)[],
  columns: readonly Column[],
): number | undefined {
  let widest: number | undefined;
  for (const [index, width = 0] of widths.entries()) {
    if (width <= (columns[index]?.min ?? 0)) continue;
    if (widest === undefined || width > (widths[widest] ?? 0)) widest = index;
  }
  return widest;
}

function mostExpendable(columns: readonly Column[], widths: readonly (number | undefined)[]): number | undefined {
  let going: number | undefined;
  for (const [index, { dropPriority }] of columns.entries()) {
    if (widths[index] === undefined || dropPriority === 0) continue;
    if (going === undefined || dropPriority > (columns[going]?.dropPriority ?? 0)) going = index;
  }
  return going;
}

function sum(widths: readonly (number | undefined)[]): number {
  let total = 0;
  for (const width of widths) total += width ?? 0;
  return total;
}
