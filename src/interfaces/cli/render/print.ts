import { formatDuration } from '../../../domain/text/duration.ts';
import type { Settings } from '../../../config/read/process-settings.ts';
import { describeError, ServiceError } from '../../../domain/text/errors.ts';
import { printable, printableJson } from '../../../domain/text/printable.ts';
import { sessionDocument, type Document, type CommandContext } from '../context/context.ts';
import { createStyle, type Style } from '../terminal/style.ts';
import type { Table } from '../terminal/table.ts';
import type { Terminal, TextOutput } from '../terminal/terminal.ts';
import { shownName, type ContainerOutcome, type Session, type EngineRuns } from '../../../domain/run/session.ts';
import { outcomeTable } from './container-table.ts';
import { countsOf, runWording, wordOf } from '../context/wording.ts';

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
    .map((line) => printable(line, maxLine));
  const remedy = remedyOf(error);
  return [
    ...message.map((line) => `${style.red('upkeep:')} ${line}`),
    ...(remedy === undefined ? [] : [`  ${printable(remedy, maxLine)}`]),
  ];
}

export function remedyOf(error: unknown): string | undefined {
  return error instanceof ServiceError ? error.remedy : bugRemedy;
}

const bugRemedy = 'This is a bug in Upkeep. Run the command again with --log-level debug and report its output';
const maxLine = 2000;

/** Outcome of each container: a table and its counts, or one JSON document. */
export async function showSession({ settings, terminal }: CommandContext, session: Session): Promise<void> {
  if (settings.output.json) return printDocument(terminal, sessionDocument(session));
  const style = styleFor(terminal.out, settings);
  if (session.containers.length > 0) await printTable(terminal, outcomeTable(session.containers), style);
  printLines(terminal.out, sessionLines(session, style));
}

/** Lines below the table of a session: the last log lines of failed versions, and the counts. */
export function sessionLines({ containers, durationMs, engines }: Session, style: Style): readonly string[] {
  const counts = countsOf(containers.map(wordOf), runWording);
  return [
    ...containers.flatMap((container) => logTail(container, style)),
    ...(containers.length === 0 ? [] : ['']),
    `${counts} in ${formatDuration(durationMs, 'rounded')}`,
    ...engineLines(engines === undefined ? {} : { engines }, style),
  ];
}

/** More than a health check or a stack trace usually needs. */
const maxLogLines = 20;

function logTail({ log, ...container }: ContainerOutcome, style: Style): readonly string[] {
  if (log === undefined || log.trim() === '') return [];
  const lines = log.trimEnd().split(/\r?\n/).slice(-maxLogLines);
  return [
    '',
    `The last log lines of the new ${printable(shownName(container), 300)}:`,
    ...lines.map((line) => style.grey(`  | ${printable(line, 500)}`)),
  ];
}

/** One line for each engine without a complete run. Empty with one engine, or without problems. */
export function engineLines({ engines = [] }: EngineRuns, style: Style): readonly string[] {
  const lines = engines
    .filter(({ result }) => result !== 'ran')
    .map(({ name, result, error = '' }) =>
      style.red(`${printable(name, 100)}: ${engineResults[result]}: ${printable(error, 1000)}`),
    );
  return lines.length === 0 ? [] : ['', ...lines];
}

/** How an engine's part in a run ended, in words. */
export const engineResults = { ran: 'done', busy: 'busy', unreachable: 'cannot be reached', failed: 'failed' } as const;
