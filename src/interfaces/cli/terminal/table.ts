import type { Cell, Column, Style } from './style.ts';
import type { TextOutput } from './terminal.ts';
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';

export type Table = {
  readonly columns: readonly Column[];
  /** Cells contain printable text, in the order of the columns. Several sentences are separate lines. */
  readonly rows: readonly (readonly Cell[])[];
};

type TableSpace = {
  /** `Infinity` for lines of any length. */
  readonly width: number;
  /** `flow`: cells without room continue below their row. `cut`: one line per row. */
  readonly overflow: 'flow' | 'cut';
  readonly style: Style;
};

/** On a terminal: in its width, with sentences below their rows. In a pipe: one line per row, of any length. */
export function tableLines(out: TextOutput, table: Table, style: Style): readonly string[] {
  const width = out.isTerminal ? Math.max(1, out.columns() - 1) : Number.POSITIVE_INFINITY;
  return layoutTable(table, { width, overflow: out.isTerminal ? 'flow' : 'cut', style });
}

/** The lines of a table, titles first, none wider than the space. Columns without text are omitted. */
export function layoutTable(table: Table, { width, overflow, style }: TableSpace): readonly string[] {
  const { columns, rows } = withoutEmptyColumns(table);
  const lines = [columns.map(({ title }): Cell => ({ text: title, style: 'grey' })), ...rows];
  if (overflow === 'flow' && width !== Number.POSITIVE_INFINITY) return flowTable(columns, lines, width, style);
  const flat = lines.map((cells) => cells.map((cell) => ({ ...cell, text: cell.text.replaceAll('\n', '; ') })));
  const widths = columnWidths(columns, flat, width - gap.length * (columns.length - 1), gap.length);
  return flat.map((cells) => cutLine(columns, cells, widths, style));
}

function withoutEmptyColumns({ columns, rows }: Table): Table {
  const isFilled = columns.map((_, index) => index === 0 || rows.some((cells) => cells[index]?.text));
  const filled = <Item>(items: readonly Item[]) => items.filter((__, index) => isFilled[index]);
  return { columns: filled(columns), rows: rows.map(filled) };
}

function cutLine(
  columns: readonly Column[],
  cells: readonly Cell[],
  widths: readonly (number | undefined)[],
  style: Style,
): string {
  const shown = columns.flatMap(({ keep }, index) => {
    const width = widths[index];
    return width === undefined ? [] : [{ cell: cells[index] ?? nothing, keep, width }];
  });
  const lastFilled = shown.findLastIndex(({ cell }) => cell.text !== '');
  return shown
    .slice(0, lastFilled + 1)
    .map(({ cell, keep, width }, position) => {
      const fitted = fit(cell.text.trimEnd(), width, keep);
      return style[cell.style](position === lastFilled ? fitted.trimEnd() : fitted);
    })
    .join(gap);
}

const gap = '  ';
const nothing: Cell = { text: '', style: 'plain' };

/**
 * Lines of a table for people, titles first. Sentences are below their row. So are cells without room: a whole column
 * if the rows are too narrow for it, else the last cell of one row. Following rows with the same text share it.
 */
function flowTable(
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
    const going = maxExpendable(columns, inRow);
    inRow = inRow.filter((index) => index !== going);
  }
  return inRow;
}

/** The last column can shrink to its minimum. */
function neededWidth(columns: readonly Column[], rows: readonly (readonly Cell[])[], inRow: readonly number[]): number {
  let needed = columnGap.length * (inRow.length - 1);
  for (const index of inRow) {
    const natural = naturalWidth(rows, index);
    needed += index === inRow.at(-1) ? Math.min(natural, columns[index]?.min ?? 0) : natural;
  }
  return needed;
}

/** Never the first column. */
function maxExpendable(columns: readonly Column[], inRow: readonly number[]): number {
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
  for (const one of inRow.slice(0, -1)) before += (widths.get(one) ?? 0) + columnGap.length;
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
  const only = cells[first] ?? emptyCell;
  if (shown.length === 1) return wrapText(only.text, width).map((text) => style[only.style](text));
  const lastFilled = shown.findLastIndex((index) => cells[index]?.text);
  const line = shown.slice(0, lastFilled + 1).map((index, place) => {
    const { text, style: name } = cells[index] ?? emptyCell;
    const padding = place === lastFilled ? 0 : (widths.get(index) ?? 0) - displayWidth(text);
    return style[name](text) + ' '.repeat(Math.max(0, padding));
  });
  return [line.join(columnGap)];
}

function belowLines({ text, style: name }: Cell, width: number, style: Style): readonly string[] {
  const indent = width < leastIndented ? '' : '  ';
  return wrapText(text, width - indent.length).map((line) => indent + style[name](line));
}

const leastIndented = 12;
const columnGap = '  ';
const emptyCell: Cell = { text: '', style: 'plain' };

/**
 * The width of each column, so that all fit. Undefined for a dropped column, which also frees its gap. The widest
 * column shrinks first, so that short ones stay complete.
 */
function columnWidths(
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
    const going = firstToDrop(columns, widths);
    if (going === undefined) return widths.map((width) => (width === undefined ? undefined : Math.max(1, available)));
    widths[going] = undefined;
    available += gap;
    for (const [index, width] of natural.entries()) if (widths[index] !== undefined) widths[index] = width;
  }
}

/** The width of a column's widest cell. A loop, because a call accepts only some hundred thousand arguments. */
function naturalWidth(rows: readonly (readonly Cell[])[], column: number): number {
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

function firstToDrop(columns: readonly Column[], widths: readonly (number | undefined)[]): number | undefined {
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

/** The width of a text in columns. Colours count as none. The package, which is slow to load, is for other text. */
export function displayWidth(text: string): number {
  return isAscii.test(text) ? text.length : stringWidth(text);
}

const isAscii = /^[\x20-\x7e]*$/;

/** The text in exactly that many columns: padded, or cut with `…` at its end, or at its start to keep the end. */
export function fit(text: string, width: number, keep: 'start' | 'end' = 'start'): string {
  const taken = displayWidth(text);
  if (taken <= width) return text + ' '.repeat(width - taken);
  if (width < 1) return '';
  const segments = isAscii.test(text) ? text.split('') : graphemesOf(text);
  let kept = '';
  let room = width - 1;
  for (const segment of keep === 'start' ? segments : segments.toReversed()) {
    room -= displayWidth(segment);
    if (room < 0) break;
    kept = keep === 'start' ? kept + segment : segment + kept;
  }
  const cut = keep === 'start' ? `${kept}…` : `…${kept}`;
  return cut + ' '.repeat(Math.max(0, width - displayWidth(cut)));
}

let graphemes: Intl.Segmenter | undefined;

function graphemesOf(text: string): readonly string[] {
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return [...graphemes.segment(text)].map(({ segment }) => segment);
}

/**
 * Wraps a text into lines of at most that many columns: at spaces, and inside a word only if it is longer than a line.
 */
export function wrapText(text: string, width: number): readonly string[] {
  return wrapAnsi(text, Math.max(1, width), { hard: true })
    .split('\n')
    .map((line) => line.trim());
}
