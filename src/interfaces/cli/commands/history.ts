import { formatDuration } from '../../../domain/text/duration.ts';
import { shownName } from '../../../domain/run/session.ts';
import { printable } from '../../../domain/text/printable.ts';
import { exitCodes, type ReadCommand, type Fetch, type PastRun } from '../context/context.ts';
import { printDocument, printLines, styleFor, printTable, engineResults } from '../render/print.ts';
import { wordingOfOutcome, versionCell } from '../context/wording.ts';
import type { Cell } from '../terminal/style.ts';
import type { Table } from '../terminal/table.ts';

/** `upkeep history`: the past updates with their containers, oldest first. */
export function createHistory(ask: Fetch<readonly PastRun[]>): ReadCommand {
  return async ({ settings, terminal, signal }) => {
    const { view, document } = await ask(signal);
    if (settings.output.json) printDocument(terminal, document);
    else if (view.length > 0) await printTable(terminal, tableOf(view), styleFor(terminal.out, settings));
    else printLines(terminal.out, ['No updates yet']);
    return exitCodes.done;
  };
}

function tableOf(runs: readonly PastRun[]): Table {
  return {
    columns: [
      { title: 'ENDED', min: 20, keep: 'start', dropPriority: 0 },
      { title: 'UPDATED', min: 7, keep: 'start', dropPriority: 1 },
      { title: 'FAILED', min: 6, keep: 'start', dropPriority: 1 },
      { title: 'CHECKED', min: 7, keep: 'start', dropPriority: 2 },
      { title: 'TOOK', min: 6, keep: 'start', dropPriority: 3 },
      { title: 'ASKED BY', min: 8, keep: 'start', dropPriority: 4 },
      { title: 'CONTAINERS', min: 20, keep: 'start', dropPriority: 5, isSentence: true },
    ],
    rows: runs.map(rowOf),
  };
}

function rowOf({
  endedAt,
  trigger,
  by,
  durationMs,
  scanned,
  updated,
  failed,
  containers,
  leftOut,
}: PastRun): readonly Cell[] {
  return [
    { text: printable(endedAt, 40).replace(/\.\d+/, ''), style: 'plain' },
    { text: String(updated), style: updated > 0 ? 'green' : 'plain' },
    { text: String(failed), style: failed > 0 ? 'red' : 'plain' },
    { text: String(scanned), style: 'plain' },
    { text: durationMs === undefined ? '' : formatDuration(durationMs, 'rounded'), style: 'plain' },
    { text: printable(by || (triggerWords[trigger] ?? trigger), 40), style: 'plain' },
    { text: [...containers.map(sayContainer), ...sayLeftOut(leftOut)].join('\n'), style: 'plain' },
  ];
}

/** The words of a trigger where nobody is named. */
const triggerWords: Readonly<Record<string, string>> = {
  command: 'command line',
  schedule: 'schedule',
  start: 'start of Upkeep',
  http: 'API',
};

/** `web updated (1.27.3 → 1.27.4)`, and a reason if there is one. */
function sayContainer({
  name,
  engine,
  outcome,
  verdict,
  hold,
  reason,
  ...versions
}: PastRun['containers'][number]): string {
  const change = versionCell(versions).text;
  const what = [
    printable(shownName({ name, engine }), 300),
    wordingOfOutcome({ outcome, verdict, hold, ...versions }).text,
    change === '' ? '' : `(${change})`,
  ];
  const why = reason === '' ? '' : `: ${printable(reason, 2000)}`;
  return `${what.filter((part) => part !== '').join(' ')}${why}`;
}

/** `engines left out: nas cannot be reached, web-1 busy` */
function sayLeftOut(engines: PastRun['leftOut']): readonly string[] {
  if (engines.length === 0) return [];
  const results = engines.map(({ name, result }) => `${printable(name, 100)} ${sayResult(result)}`);
  return [`engines left out: ${results.join(', ')}`];
}

function sayResult(result: string): string {
  return Object.entries(engineResults).find(([known]) => known === result)?.[1] ?? printable(result, 100);
}
