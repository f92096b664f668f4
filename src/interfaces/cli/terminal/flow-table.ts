import type { Cell, Column } from './cell.ts';
import { naturalWidth } from './column-widths.ts';
import type { Style } from './style.ts';
import { displayWidth, wrapText } from './width.ts';

/**
 * Lines of a table for people, titles first. Sentences are below their row. So are cells without room: a whole column
 * if the rows are too narrow for it, else the last cell of one row. Following rows with the same text share it.
 */
export function flowTable(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  width: number,
  style: Style,
): readonly string[] {
  const inRow = columnsInRow(columns, rows, width);
  const widths = new Map(inRow.map((index) => [index, naturalWidth(rows, index)]));
  let sharing = 1;
  const laid = rows.map((cells) => {
    const shown = inRow.filter((index) => hasRoom(index, cells, inRow, widths, width));
    const below = columns.flatMap((_, index) => (shown.includes(index) ? [] : (cells[index] ?? [])));
    return { row: rowLines(shown, cells, widths, width, style), below: below.filter(({ text }) => text !== '') };
  });
  return laid.flatMap(({ row, below }, line) => {
    if (line === 0) return row.slice(0, 1);
    if (isSame(below, laid[line + 1]?.below)) {
      sharing += 1;
      return row;
    }
    const last = below.at(-1);
    const shared = last && { ...last, text: `${last.text} (the ${sharing} above)` };
    const told = sharing > 1 && shared ? [...below.slice(0, -1), shared] : below;
    sharing = 1;
    return [...row, ...told.flatMap((cell) => belowLines(cell, width, style))];
  });
}

function isSame(below: readonly Cell[], next: readonly Cell[] | undefined): boolean {
  return below.length > 0 && JSON.stringify(below) === JSON.stringify(next);
}

/** The columns within the rows. All but the last have their full width. */
function columnsInRow(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  width: number,
): readonly number[] {
  let inRow = columns.flatMap(({ isSentence }, index) => (isSentence === true ? [] : [index]));
  while (inRow.length > 1 && neededWidth(columns, rows, inRow) > width) {
    const going = mostExpendable(columns, inRow);
    inRow = inRow.filter((index) => index !== going);
  }
  return inRow;
}

/** The last column can shrink to its minimum. */
function neededWidth(columns: readonly Column[], rows: readonly (readonly Cell[])[], inRow: readonly number[]): number {
  let needed = gap.length * (inRow.length - 1);
  for (const index of inRow) {
    const natural = naturalWidth(rows, index);
    needed += index === inRow.at(-1) ? Math.min(natural, columns[index]?.min ?? 0) : natural;
  }
  return needed;
}

/** Never the first column. */
function mostExpendable(columns: readonly Column[], inRow: readonly number[]): number {
  const [, ...others] = inRow;
  const [most = 0] = others.toSorted((one, other) => rank(columns, other) - rank(columns, one));
  return most;
}

function rank(columns: readonly Column[], index: number): number {
  return columns[index]?.dropPriority ?? 0;
}

/** All columns but the last are as wide as their widest cell. */
function hasRoom(
  index: number,
  cells: readonly Cell[],
  inRow: readonly number[],
  widths: ReadonlyMap<number, number>,
  width: number,
): boolean {
  if (inRow.length === 1 || index !== inRow.at(-1)) return true;
  let before = 0;
  for (const one of inRow.slice(0, -1)) before += (widths.get(one) ?? 0) + gap.length;
  return before + displayWidth(cells[index]?.text ?? '') <= width;
}

function rowLines(
  shown: readonly number[],
  cells: readonly Cell[],
  widths: ReadonlyMap<number, number>,
  width: number,
  style: Style,
): readonly string[] {
  const [first = 0] = shown;
  const only = cells[first] ?? nothing;
  if (shown.length === 1) return wrapText(only.text, width).map((text) => style[only.style](text));
  const lastFilled = shown.findLastIndex((index) => cells[index]?.text);
  const line = shown.slice(0, lastFilled + 1).map((index, place) => {
    const { text, style: name } = cells[index] ?? nothing;
    const padding = place === lastFilled ? 0 : (widths.get(index) ?? 0) - displayWidth(text);
    return style[name](text) + ' '.repeat(Math.max(0, padding));
  });
  return [line.join(gap)];
}

function belowLines({ text, style: name }: Cell, width: number, style: Style): readonly string[] {
  const indent = width < leastIndented ? '' : '  ';
  return wrapText(text, width - indent.length).map((line) => indent + style[name](line));
}

const leastIndented = 12;
const gap = '  ';
const nothing: Cell = { text: '', style: 'plain' };
