import { printable } from '../../../domain/text/printable.ts';
import { type ContainerOutcome, type Session, shownName } from '../../../domain/run/session.ts';
import { outcomeTable } from './container-table.ts';
import type { CommandContext } from '../context/context.ts';
import { sessionDocument } from '../context/documents.ts';
import { engineLines } from './engine-lines.ts';
import { printDocument, printLines, styleFor, printTable } from './print.ts';
import type { Style } from '../terminal/style.ts';
import { countsOf, formatRoughly, runWording, wordOf } from '../words/wording.ts';

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
    ...containers.flatMap((container) => lastWords(container, style)),
    ...(containers.length === 0 ? [] : ['']),
    `${counts} in ${formatRoughly(durationMs)}`,
    ...engineLines(engines === undefined ? {} : { engines }, style),
  ];
}

/** More than a health check or a stack trace usually needs. */
const mostLogLines = 20;

function lastWords({ log, ...container }: ContainerOutcome, style: Style): readonly string[] {
  if (log === undefined || log.trim() === '') return [];
  const lines = log.trimEnd().split(/\r?\n/).slice(-mostLogLines);
  return [
    '',
    `The last log lines of the new ${printable(shownName(container), 300)}:`,
    ...lines.map((line) => style.grey(`  | ${printable(line, 500)}`)),
  ];
}
