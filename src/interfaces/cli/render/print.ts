import type { Settings } from '../../../config/read/process-settings.ts';
import { describeError, ServiceError } from '../../../domain/text/errors.ts';
import { printable, printableJson } from '../../../domain/text/printable.ts';
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
  printLines(out, tableLines(out, table, style));
}

/** Colours, if the terminal supports them and the user allows them. */
export function styleFor(output: TextOutput, settings: Settings): Style {
  return createStyle(output.isTerminal && settings.output.colour);
}

/** Whether a person watches the progress. */
export function isLive({ out }: Terminal, { output }: Settings): boolean {
  return out.isTerminal && output.live && !output.json;
}

/** Error text of a failed command: action, cause and remedy. For a bug: how to report it, without a stack trace. */
export function failureLines(error: unknown, style: Style): readonly string[] {
  const message = describeError(error)
    .split('\n')
    .map((line) => printable(line, longestLine));
  const remedy = remedyOf(error);
  return [
    ...message.map((line) => `${style.red('upkeep:')} ${line}`),
    ...(remedy === undefined ? [] : [`  ${printable(remedy, longestLine)}`]),
  ];
}

export function remedyOf(error: unknown): string | undefined {
  return error instanceof ServiceError ? error.remedy : bugRemedy;
}

const bugRemedy = 'This is a bug in Upkeep. Run the command again with --log-level debug and report its output';
const longestLine = 2000;
