import type { Cell, Column } from './cell.ts';
import { columnWidths } from './column-widths.ts';
import { flowTable } from './flow-table.ts';
import type { Style } from './style.ts';
import type { TextOutput } from './terminal.ts';
import { fit } from './width.ts';

export type Table = {
  readonly columns: readonly Column[];
  /** Cells contain printable text, in the order of the columns. Several sentences are separate lines. */
  readonly rows: readonly (readonly Cell[])[];
};

export type TableSpace = {
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
