import type { Cell } from '../terminal/cell.ts';
import { formatDuration } from '../../../domain/text/duration.ts';
import type { JsonObject } from '../../../domain/run/running-service.ts';
import { exitCodes, type LookFunction, type ReadDocument } from '../context/context.ts';
import { listOf, numberOf, textOf } from '../render/fields.ts';
import { printDocument, printLines, printTable, styleFor } from '../render/print.ts';
import type { Table } from '../terminal/table.ts';

/** `upkeep history`: the updates of a running service, oldest first. */
export function createHistory(read: ReadDocument): LookFunction {
  return async ({ settings, terminal, signal }) => {
    const document = await read(signal);
    const entries = listOf(document, 'entries');
    if (settings.output.json) printDocument(terminal, document);
    else if (entries.length > 0) printTable(terminal, tableOf(entries), styleFor(terminal.out, settings));
    else printLines(terminal.out, ['The service has made no update since its start']);
    return exitCodes.done;
  };
}

function tableOf(entries: readonly JsonObject[]): Table {
  return {
    columns: [
      { title: 'ENDED', min: 20, keep: 'start', expendable: 0 },
      { title: 'BEGUN BY', min: 8, keep: 'start', expendable: 3 },
      { title: 'TOOK', min: 6, keep: 'start', expendable: 4 },
      { title: 'CHECKED', min: 7, keep: 'start', expendable: 2 },
      { title: 'UPDATED', min: 7, keep: 'start', expendable: 1 },
      { title: 'FAILED', min: 6, keep: 'start', expendable: 1 },
      { title: 'WHAT FAILED', min: 20, keep: 'start', expendable: 5 },
    ],
    rows: entries.map(rowOf),
  };
}

function rowOf(entry: JsonObject): readonly Cell[] {
  const failed = numberOf(entry, 'failed');
  return [
    { text: textOf(entry, 'timestamp').replace(/\.\d+/, ''), style: 'plain' },
    { text: textOf(entry, 'trigger'), style: 'plain' },
    { text: tookOf(entry), style: 'plain' },
    { text: textOf(entry, 'scanned'), style: 'plain' },
    { text: textOf(entry, 'updated'), style: numberOf(entry, 'updated') > 0 ? 'green' : 'plain' },
    { text: textOf(entry, 'failed'), style: failed > 0 ? 'red' : 'plain' },
    { text: failuresOf(entry), style: 'plain' },
  ];
}

function tookOf(entry: JsonObject): string {
  return typeof entry['duration_ms'] === 'number' ? formatDuration(numberOf(entry, 'duration_ms')) : '';
}

/** Services of the Watchtower family do not tell. */
function failuresOf(entry: JsonObject): string {
  if (entry['failures'] === undefined) return '';
  return listOf(entry, 'failures')
    .map((failure) => {
      const outcome = textOf(failure, 'outcome') === 'rolled_back' ? 'rolled back' : 'failed';
      return `${textOf(failure, 'name')}: ${outcome}: ${textOf(failure, 'reason', 2000)}`;
    })
    .join('; ');
}
