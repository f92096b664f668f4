import type { Cell } from '../terminal/cell.ts';
import type { Application } from '../../../application/application.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import { containerColumns } from './container-table.ts';
import { createLiveRegion, type Room } from '../terminal/live-region.ts';
import { createRunView, type ViewRow } from './run-view.ts';
import type { Style } from '../terminal/style.ts';
import { layoutTable } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { fit } from '../terminal/width.ts';

export type LiveTableOptions = {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly style: Style;
  /** A blank line separates it from the lines above. */
  readonly isSeparate?: boolean;
};

export type LiveTable = {
  /** All present rows, for a table that stays on the screen. */
  readonly rows: () => readonly (readonly Cell[])[];
  readonly end: () => void;
};

/** A live table of the application's events at the bottom of the terminal. */
export function showLiveTable(application: Application, options: LiveTableOptions): LiveTable {
  const { terminal, clock, style, isSeparate = false } = options;
  const view = createRunView(clock);
  const head = isSeparate ? [''] : [];
  const region = createLiveRegion(terminal, clock, ({ columns, rows }) => {
    const table = tableLines(view.rows(), { columns, rows: rows - head.length }, style);
    return [...head, ...table].slice(0, rows);
  });
  const stopListening = application.subscribe((event) => {
    view.hear(event);
    region.changed();
  });
  return {
    rows: () => view.rows().map(({ cells }) => cells),
    end: () => {
      stopListening();
      region.end();
    },
  };
}

/** Wide enough for every state, so that columns do not move. */
const steadyColumns = containerColumns.map((column) =>
  column.title === 'STATUS' ? { ...column, title: 'STATUS'.padEnd('pulling 100% of 1000 MB'.length) } : column,
);

const interestOrder = ['busy', 'told', 'quiet'] as const;

/** All rows if they fit. Otherwise the most important ones, in their order, and the number of hidden ones. */
function tableLines(rows: readonly ViewRow[], room: Room, style: Style): readonly string[] {
  const space = Math.max(1, room.rows - 1);
  const fits = rows.length <= space;
  const shown = fits ? rows : mostInteresting(rows, Math.max(0, space - 1));
  const table = { columns: steadyColumns, rows: shown.map(({ cells }) => cells) };
  const lines = layoutTable(table, { width: room.columns, overflow: 'cut', style });
  const rest = fit(`and ${rows.length - shown.length} more`, room.columns).trimEnd();
  return rows.length === 0 ? [] : fits ? lines : [...lines, style.grey(rest)];
}

function mostInteresting(rows: readonly ViewRow[], count: number): readonly ViewRow[] {
  const chosen = new Set(
    interestOrder.flatMap((interest) => rows.filter((row) => row.interest === interest)).slice(0, count),
  );
  return rows.filter((row) => chosen.has(row));
}
