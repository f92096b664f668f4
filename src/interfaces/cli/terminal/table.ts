import { type Column, type Cell } from './cell.ts';
import { columnWidths } from './column-widths.ts';
import type { Style } from './style.ts';
import { fit, wrapText } from './width.ts';

export type Table = {
  readonly columns: readonly Column[];
  /** Cells hold printable text, in the order of the columns. */
  readonly rows: readonly (readonly Cell[])[];
};

export type TableSpace = {
  /** `Infinity` where lines may be as long as they like. */
  readonly width: number;
  /** Whether a last column that does not fit goes on in further lines, or is cut. */
  readonly overflow: 'wrap' | 'cut';
  readonly style: Style;
};

/** The lines of a table, titles first, none wider than the space. */
export function layoutTable({ columns, rows }: Table, { width, overflow, style }: TableSpace): readonly string[] {
  const titles = columns.map(({ title }): Cell => ({ text: title, style: 'grey' }));
  const widths = columnWidths(columns, [titles, ...rows], width - gap.length * (columns.length - 1), gap.length);
  const shown = columns.flatMap(({ keep }, index) => {
    const columnWidth = widths[index];
    return columnWidth === undefined ? [] : [{ index, keep, width: columnWidth }];
  });
  const last = shown.at(-1);
  const line = (cells: readonly Cell[]) => {
    const lastFilled = shown.findLastIndex(({ index }) => cells[index]?.text);
    return shown
      .slice(0, lastFilled + 1)
      .map(({ index, keep, width: columnWidth }, position) => {
        const { text, style: name } = cells[index] ?? nothing;
        const fitted = fit(text, columnWidth, keep);
        return style[name](position === lastFilled ? fitted.trimEnd() : fitted);
      })
      .join(gap);
  };
  return [titles, ...rows].flatMap((cells) => {
    const parts = overflow === 'cut' || last === undefined ? [cells] : continued(cells, last.index, last.width);
    return parts.map(line);
  });
}

const gap = '  ';
const nothing: Cell = { text: '', style: 'plain' };

/** One row as several, of which all but the first hold only what is left of the cell at `index`. */
function continued(cells: readonly Cell[], index: number, width: number): readonly (readonly Cell[])[] {
  const cell = cells[index] ?? nothing;
  return wrapText(cell.text, width).map((text, line) =>
    cells.map((each, column) => (column === index ? { ...cell, text } : line === 0 ? each : nothing)),
  );
}
