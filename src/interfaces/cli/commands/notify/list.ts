import type { NotifyContext } from './notify-context.ts';
import { applyRecords, emptyOutbox, type OutboxEntry } from '../../../../domain/notification/outbox/outbox.ts';
import { printable } from '../../../../domain/text/printable.ts';
import { toTimestamp } from '../../../json/timestamps.ts';
import { exitCodes } from '../../context/context.ts';
import { printDocument, printLines, styleFor, printTable } from '../../render/print.ts';
import { problemLines } from './chosen-targets.ts';

/** `upkeep notify list`: each target, and with --state-dir its waiting messages. */
export async function list(context: NotifyContext): Promise<number> {
  const { setup, settings, terminal } = context;
  const { targets, homes, problems } = setup;
  const waiting = [...applyRecords(emptyOutbox, await setup.outbox()).entries.values()];
  const rows = targets.map((target) => ({ target, waiting: waiting.filter((entry) => entry.target === target.name) }));
  if (settings.output.json) {
    const entries = rows.map(({ target: { name, service, shown }, waiting: entries }) => ({
      name,
      service,
      url: shown,
      ...waitingEntry(entries),
    }));
    printDocument(terminal, { targets: entries, home_assistants: homes, problems });
    return problems.length > 0 ? exitCodes.failed : exitCodes.done;
  }
  printLines(terminal.err, problemLines(context));
  if (targets.length === 0 && homes.length === 0) printLines(terminal.out, ['No target of notifications is set up']);
  else if (targets.length > 0)
    await printTable(
      terminal,
      {
        columns: [
          { title: 'NAME', min: 8, keep: 'start', expendable: 0 },
          { title: 'URL', min: 16, keep: 'start', expendable: 2 },
          { title: 'WAITING', min: 7, keep: 'start', expendable: 1 },
          { title: 'LAST FAILURE', min: 20, keep: 'start', expendable: 3 },
        ],
        rows: rows.map(({ target: { name, shown }, waiting: entries }) => [
          { text: printable(name, 100), style: 'bold' },
          { text: printable(shown, 300), style: 'plain' },
          { text: String(entries.length), style: entries.length > 0 ? 'red' : 'plain' },
          { text: printable(failureOf(entries), 1000), style: 'red' },
        ]),
      },
      styleFor(terminal.out, settings),
    );
  printLines(
    terminal.out,
    homes.map((home) => `Containers are shown in Home Assistant: ${printable(home, 300)}`),
  );
  return problems.length > 0 ? exitCodes.failed : exitCodes.done;
}

function waitingEntry(entries: readonly OutboxEntry[]) {
  const [oldest] = entries;
  const lastFailure = failureOf(entries);
  return {
    waiting: entries.length,
    ...(oldest && { oldest: toTimestamp(oldest.message.createdAtMs) }),
    ...(lastFailure !== '' && { last_failure: lastFailure }),
  };
}

function failureOf(entries: readonly OutboxEntry[]): string {
  return entries.find(({ lastFailure }) => lastFailure !== '')?.lastFailure ?? '';
}
