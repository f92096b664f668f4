import type { Style } from './style.ts';
import { layoutTable, type Table } from './table.ts';
import type { Terminal } from './terminal.ts';

/** On a terminal in its width, with sentences below their rows. In a pipe one line per row of any length. */
export function printTable({ out }: Terminal, table: Table, style: Style): void {
  const width = out.isTerminal ? Math.max(1, out.columns() - 1) : Number.POSITIVE_INFINITY;
  const lines = layoutTable(table, { width, overflow: out.isTerminal ? 'flow' : 'cut', style });
  if (lines.length > 0) out.write(`${lines.join('\n')}\n`);
}
