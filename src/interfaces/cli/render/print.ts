import type { Settings } from '../../../config/read/settings.ts';
import { printableJson } from '../../../domain/text/printable.ts';
import type { Document } from '../context/documents.ts';
import { createStyle, type Style } from '../terminal/style.ts';
import type { Table } from '../terminal/table.ts';
import type { Terminal, TextOutput } from '../terminal/terminal.ts';

export function printLines(output: TextOutput, lines: readonly string[]): void {
  if (lines.length > 0) output.write(`${lines.join('\n')}\n`);
}

export function printDocument({ out }: Terminal, document: Document): void {
  out.write(`${printableJson(JSON.stringify(document, undefined, 2))}\n`);
}

/** The layout is loaded only here, because that takes a quarter of the start of a command. */
export async function printTable({ out }: Terminal, table: Table, style: Style): Promise<void> {
  const { tableLines } = await import('../terminal/table.ts');
  const lines = tableLines(out, table, style);
  if (lines.length > 0) out.write(`${lines.join('\n')}\n`);
}

/** Colours, if the terminal supports them and the user allows them. */
export function styleFor(output: TextOutput, settings: Settings): Style {
  return createStyle(output.isTerminal && settings.output.colour);
}

/** Whether a person watches the progress. */
export function isWatched({ out }: Terminal, { output }: Settings): boolean {
  return out.isTerminal && output.live && !output.json;
}
