import { type NotifyContext, problemLines } from './notify-context.ts';
import type { Target } from '../../../../domain/notification/message.ts';
import { applyRecords, emptyOutbox, type OutboxEntry } from '../../../../domain/notification/outbox.ts';
import { printable } from '../../../../domain/text/printable.ts';
import { toTimestamp } from '../../../json/timestamps.ts';
import { exitCodes } from '../../context/context.ts';
import { printDocument, printLines, styleFor, printTable } from '../../render/print.ts';

/** `upkeep notify list`: each target, and with --state-dir its waiting messages. */
export async function list(context: NotifyContext): Promise<number> {
  const { setup, settings, terminal } = context;
  const { targets, homeAssistants, problems } = setup;
  const entries = [...applyRecords(emptyOutbox, await setup.outbox()).entries.values()];
  const rows = targets.map((target) => rowOf(target, entries));
  const code = problems.length > 0 ? exitCodes.failed : exitCodes.done;
  if (settings.output.json) {
    const documents = rows.map(({ oldestAtMs, lastFailure, ...row }) => ({
      ...row,
      ...(oldestAtMs !== undefined && { oldest: toTimestamp(oldestAtMs) }),
      ...(lastFailure !== '' && { last_failure: lastFailure }),
    }));
    printDocument(terminal, { targets: documents, home_assistants: homeAssistants, problems });
    return code;
  }
  printLines(terminal.err, problemLines(context));
  if (targets.length === 0 && homeAssistants.length === 0)
    printLines(terminal.out, ['No target of notifications is set up']);
  else if (targets.length > 0)
    await printTable(
      terminal,
      {
        columns: [
          { title: 'NAME', min: 8, keep: 'start', dropPriority: 0 },
          { title: 'URL', min: 16, keep: 'start', dropPriority: 2 },
          { title: 'WAITING', min: 7, keep: 'start', dropPriority: 1 },
          { title: 'LAST FAILURE', min: 20, keep: 'start', dropPriority: 3 },
        ],
        rows: rows.map(({ name, url, waiting, lastFailure }) => [
          { text: printable(name, 100), style: 'bold' },
          { text: printable(url, 300), style: 'plain' },
          { text: String(waiting), style: waiting > 0 ? 'red' : 'plain' },
          { text: printable(lastFailure, 1000), style: 'red' },
        ]),
      },
      styleFor(terminal.out, settings),
    );
  printLines(
    terminal.out,
    homeAssistants.map((home) => `Containers are shown in Home Assistant: ${printable(home, 300)}`),
  );
  return code;
}

function rowOf({ name, service, shown: url }: Target, entries: readonly OutboxEntry[]) {
  const waiting = entries.filter(({ target }) => target === name);
  const oldestAtMs = waiting[0]?.message.createdAtMs;
  const failed = waiting.find(({ lastFailure }) => lastFailure !== '');
  return { name, service, url, waiting: waiting.length, oldestAtMs, lastFailure: failed?.lastFailure ?? '' };
}
