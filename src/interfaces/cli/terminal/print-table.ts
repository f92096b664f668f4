import type { Style } from './style.ts';
import type { Table } from './table.ts';
import type { Terminal } from './terminal.ts';

/** The layout is loaded only here, because that takes a quarter of the start of a command. */
export async function printTable({ out }: Terminal, table: Table, style: Style): Promise<void> {
  const { tableLines } = await import('./table.ts');
  const lines = tableLines(out, table, style);
  if (lines.length > 0) out.write(`${lines.join('\n')}\n`);
}
