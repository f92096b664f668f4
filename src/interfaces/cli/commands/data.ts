import { ServiceError } from '../../../domain/text/errors.ts';
import { formatBytes } from '../../../domain/text/plain-data.ts';
import { printTime } from '../../../domain/text/duration.ts';
import { quoted, printable } from '../../../domain/text/printable.ts';
import { shownName } from '../../../domain/run/session.ts';
import { toTimestamp } from '../../json/timestamps.ts';
import type { Table } from '../terminal/table.ts';
import { exitCodes, type CommandContext } from '../context/context.ts';
import { printDocument, printLines, printTable, styleFor } from '../render/print.ts';

type Copies = Awaited<ReturnType<CommandContext['application']['keptCopies']>>;

/** `upkeep data list|remove`: the copies of data that updates have kept or left. */
export async function data(context: CommandContext): Promise<number> {
  const { application, settings, terminal, signal } = context;
  const [action = 'list', ...names] = settings.request.containers;
  if (action !== 'list' && action !== 'remove')
    throw new ServiceError(
      'invalid-input',
      `Cannot run "upkeep data ${quoted(action).slice(1)}: expected list or remove`,
    );
  if (action === 'remove' && names.length === 0)
    throw new ServiceError('invalid-input', 'Cannot remove a copy: no container is named', {
      remedy: 'name it, as in "upkeep data remove web"; upkeep data list shows all copies',
    });
  if (action === 'remove') {
    const removed = await application.removeKeptCopies(names, signal);
    if (settings.output.json) printDocument(terminal, { removed: removed.map(copyEntry) });
    else
      printLines(
        terminal.out,
        removed.map(
          (copy) => `Removed the copy of ${printable(shownName({ name: copy.container, engine: copy.engine }), 300)}`,
        ),
      );
    return exitCodes.done;
  }
  const copies = (await application.keptCopies(signal)).filter(
    ({ container }) => names.length === 0 || names.includes(container),
  );
  if (settings.output.json) printDocument(terminal, { copies: copies.map(copyEntry) });
  else if (copies.length === 0) printLines(terminal.out, [noCopy(names)]);
  else await printTable(terminal, tableOf(copies), styleFor(terminal.out, settings));
  return exitCodes.done;
}

/** Copies of other containers than the named ones may be kept. */
function noCopy(names: readonly string[]): string {
  if (names.length === 0) return 'No copy of data is kept.';
  return `No copy of the data of ${names.map((name) => quoted(name)).join(', ')} is kept.`;
}

function tableOf(copies: Copies): Table {
  const rows = copies.map((copy) => [
    shownName({ name: copy.container, engine: copy.engine }),
    printTime(copy.takenAtMs),
    untilOf(copy),
    ...(copy.kind === 'stray' ? ['–', '–'] : [formatBytes(copy.bytes), copy.files.toLocaleString('en')]),
    copy.volume,
  ]);
  return {
    columns: [
      { title: 'CONTAINER', min: 9, keep: 'start', dropPriority: 0 },
      { title: 'TAKEN', min: 17, keep: 'start', dropPriority: 0 },
      { title: 'KEPT UNTIL', min: 17, keep: 'start', dropPriority: 1 },
      { title: 'SIZE', min: 6, keep: 'start', dropPriority: 0 },
      { title: 'FILES', min: 5, keep: 'start', dropPriority: 2 },
      { title: 'VOLUME', min: 20, keep: 'start', dropPriority: 3 },
    ],
    rows: rows.map((cells) => cells.map((text) => ({ text: printable(text, 300), style: 'plain' }))),
  };
}

function untilOf({ keptUntilMs, isNeeded }: Copies[number]): string {
  if (keptUntilMs !== undefined) return printTime(keptUntilMs);
  return isNeeded ? 'its update ends' : 'you remove it';
}

function copyEntry(copy: Copies[number]) {
  const { container, engine, volume, takenAtMs, keptUntilMs, isNeeded } = copy;
  return {
    container,
    engine,
    volume,
    taken_at: toTimestamp(takenAtMs),
    ...(keptUntilMs !== undefined && { kept_until: toTimestamp(keptUntilMs) }),
    ...(isNeeded && { unfinished: true }),
    ...(copy.kind === 'labelled' && { bytes: copy.bytes, files: copy.files }),
  };
}
