import { isOfCheck, readEvent, readSummary, type StreamEvent } from './state/documents/status.ts';
import { nameIn, textOf } from './state/documents/reading.ts';
import { didWords } from './state/display/runs.ts';
import { joinedWords, withPeriod } from './state/words.ts';
import type { Reader } from './transport/reader.ts';
import type { PageContext } from './view/context.ts';
import { movePullInDrawer } from './view/drawer.ts';
import { announce, notice } from './view/parts/node.ts';
import type { Table } from './view/table/table.ts';

export type EventHandlerParts = {
  readonly context: PageContext;
  readonly table: Table;
  readonly reader: Reader;
  readonly onRefused: () => void;
  readonly onIntercepted: () => void;
  readonly paintAnswerSoon: () => void;
  readonly paintOpen: () => void;
  readonly paintRun: () => void;
  readonly paintPages: () => void;
};

export type EventHandler = {
  /** Handles an event of the stream, given as text. */
  readonly onEvent: (text: string) => void;
  /** Reads all documents soon. Several calls cause one reading. */
  readonly refresh: () => void;
  readonly readPages: () => Promise<void>;
};

/** Applies events to the page: one row, the counts, and the drawer if it shows that container. */
export function createEventHandler(parts: EventHandlerParts): EventHandler {
  const { context, table, reader } = parts;
  const { containers } = context;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let rolledBack = 0;
  /** Undefined until the run has begun to change a container. */
  let doing: 'update' | 'rollback' | undefined;

  function onEvent(text: string): void {
    const event = readEvent(text);
    if (event === undefined) return;
    const wasRunning = containers.isRunning();
    const names = containers.onEvent(event, context.nowMs());
    if (event.kind === 'pull_progress' && wasRunning && names.every(table.movePull)) {
      if (!names.every((name) => movePullInDrawer(context, name))) parts.paintOpen();
      return parts.paintAnswerSoon();
    }
    table.paint(names);
    if (wasRunning !== containers.isRunning()) parts.paintRun();
    if (names.includes(context.address().open)) parts.paintOpen();
    parts.paintAnswerSoon();
    follow(event);
  }

  function follow({ kind, data }: StreamEvent): void {
    const name = nameIn(data);
    switch (kind) {
      case 'scan_started':
        if (isOfCheck(data)) return refresh();
        rolledBack = 0;
        doing = undefined;
        return refresh();
      case 'update_started':
        doing = data['rollback'] === true ? 'rollback' : 'update';
        return announce(`${name} is being ${past[doing]}`);
      case 'update_completed':
        if (doing === 'rollback') return announce(`${name} went back to its earlier version`);
        return announce(`${name} was updated to ${containers.named(name)?.version ?? 'a newer image'}`);
      case 'update_failed': {
        const isBack = data['rolled_back'] === true;
        if (isBack) rolledBack += 1;
        const failed = isBack && doing !== 'rollback' ? 'was rolled back' : `could not be ${past[doing ?? 'update']}`;
        return announce(`${name} ${failed}: ${textOf(data['error'])}`);
      }
      case 'engine_unreachable':
      case 'engine_reachable':
      case 'notes_read':
      case 'results_changed':
        return refresh();
      case 'scan_failed':
        notice(withPeriod(`The ${isOfCheck(data) ? 'check' : 'run'} failed: ${textOf(data['error'])}`));
        return endRun();
      case 'scan_completed':
        if (doing !== undefined && !isOfCheck(data)) notice(doneWords(data, doing, rolledBack));
        return endRun();
      default:
        return undefined;
    }
  }

  /** The documents are authoritative. The engine may report the last change a moment later, so they are read twice. */
  function endRun(): void {
    refresh();
    setTimeout(refresh, settledMs);
    void readPages();
  }

  function refresh(): void {
    if (timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      void reader.read().then((answer) => {
        if (answer === 'refused') parts.onRefused();
        if (answer === 'unreachable' && reader.isIntercepted()) parts.onIntercepted();
      });
    }, refreshMs);
  }

  async function readPages(): Promise<void> {
    await Promise.all([reader.readRuns(), reader.options().length === 0 ? reader.readOptions() : undefined]);
    parts.paintPages();
    parts.paintAnswerSoon();
    parts.paintOpen();
  }

  return { onEvent, refresh, readPages };
}

const past = { update: 'updated', rollback: 'rolled back' } as const;

const refreshMs = 250;
const settledMs = 3000;

function doneWords(data: StreamEvent['data'], doing: keyof typeof past, rolledBack: number): string {
  const counts = readSummary(data);
  const wentBack = typeof data['went_back'] === 'number' ? data['went_back'] : 0;
  const words = didWords({ ...counts, wentBack, rolledBack: doing === 'update' ? rolledBack : 0 });
  return words.length === 0 ? 'Done: nothing new.' : `Done: ${joinedWords(words)}.`;
}
