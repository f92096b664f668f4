import type { Session } from '../../../domain/run/session.ts';
import { outcomeTable } from './container-table.ts';
import type { CommandContext } from '../context/context.ts';
import { sessionDocument } from '../context/documents.ts';
import { printDocument, printLines, styleFor } from './print.ts';
import { printTable } from '../terminal/print-table.ts';
import { sessionLines } from './session-lines.ts';

/** Outcome of each container: a table and its counts, or one JSON document. */
export async function showSession({ settings, terminal }: CommandContext, session: Session): Promise<void> {
  if (settings.output.json) return printDocument(terminal, sessionDocument(session));
  const style = styleFor(terminal.out, settings);
  if (session.containers.length > 0) await printTable(terminal, outcomeTable(session.containers), style);
  printLines(terminal.out, sessionLines(session, style));
}
