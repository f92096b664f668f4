import { words } from '../../../domain/text/words.ts';
import type { Cell, Style } from '../terminal/style.ts';
import { layoutTable, fit, displayWidth } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { Application } from '../../../application/application.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import { containerColumns, rowOf } from './container-table.ts';
import { defined } from '../../../domain/text/plain-data.ts';
import {
  imageChange,
  versionCell,
  causeFirst,
  sayResult,
  wordingOfStatus,
  formatTasks,
  type Versions,
} from '../context/wording.ts';
import { formatDuration } from '../../../domain/text/duration.ts';
import {
  percentOf,
  type CheckedFacts,
  type CopyProgress,
  type PullProgress,
  type ServiceEvent,
} from '../../../domain/run/event.ts';
import { fleetKeyOf, shownName, type OutcomeKind, type UpdatePhase } from '../../../domain/run/session.ts';
import type { TaskProgress } from '../../../domain/container/swarm-service.ts';

type LiveTableOptions = {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly style: Style;
  /** A blank line separates it from the lines above. */
  readonly isSeparate?: boolean;
};

export type LiveTable = {
  /** All present rows, for a table that stays on the screen. */
  readonly rows: () => readonly (readonly Cell[])[];
  readonly end: () => void;
};

/** A live table of the application's events at the bottom of the terminal. */
export function showLiveTable(application: Application, options: LiveTableOptions): LiveTable {
  const { terminal, clock, style, isSeparate = false } = options;
  const view = createRunView(clock);
  const head = isSeparate ? [''] : [];
  const region = createLiveRegion(terminal, clock, ({ columns, rows }) => {
    const table = tableLines(view.rows(), { columns, rows: rows - head.length }, style);
    return [...head, ...table].slice(0, rows);
  });
  const stopListening = application.subscribe((event) => {
    view.onEvent(event);
    region.changed();
  });
  return {
    rows: () => view.rows().map(({ cells }) => cells),
    end: () => {
      stopListening();
      region.end();
    },
  };
}

/** Wide enough for every state, so that columns do not move. */
const steadyColumns = containerColumns.map((column) =>
  column.title === 'STATUS' ? { ...column, title: 'STATUS'.padEnd('pulling 100% of 1000 MB'.length) } : column,
);

const interestOrder = ['busy', 'told', 'quiet'] as const;

/** All rows if they fit. Otherwise the most important ones, in their order, and the number of hidden ones. */
function tableLines(rows: readonly ViewRow[], room: Room, style: Style): readonly string[] {
  const space = Math.max(1, room.rows - 1);
  const fits = rows.length <= space;
  const shown = fits ? rows : maxInteresting(rows, Math.max(0, space - 1));
  const table = { columns: steadyColumns, rows: shown.map(({ cells }) => cells) };
  const lines = layoutTable(table, { width: room.columns, overflow: 'cut', style });
  const rest = fit(`and ${rows.length - shown.length} more`, room.columns).trimEnd();
  return rows.length === 0 ? [] : fits ? lines : [...lines, style.grey(rest)];
}

function maxInteresting(rows: readonly ViewRow[], count: number): readonly ViewRow[] {
  const chosen = new Set(
    interestOrder.flatMap((interest) => rows.filter((row) => row.interest === interest)).slice(0, count),
  );
  return rows.filter((row) => chosen.has(row));
}

/** Progress of a run, one row per container. */
type RunView = {
  readonly onEvent: (event: ServiceEvent) => void;
  /** In the order of their first event. */
  readonly rows: () => readonly ViewRow[];
};

type ViewRow = {
  /** In the order of `containerColumns`. */
  readonly cells: readonly Cell[];
  /** `busy`: an update runs. `told`: there is a result or a finding. `quiet`: no news. */
  readonly interest: 'busy' | 'told' | 'quiet';
};

export function createRunView(clock: Clock): RunView {
  /** By `fleetKeyOf`. */
  const rows = new Map<string, Row>();
  const change = (key: string, parts: Partial<Row>) => rows.set(key, { ...(rows.get(key) ?? newRow), ...parts });
  const enter = (key: string, phase: UpdatePhase, { progress, copied, tasks, windowMs }: Progress = {}) => {
    const state = rows.get(key)?.state;
    const sinceMs = state?.kind === 'busy' && state.phase === phase ? state.sinceMs : clock.monotonicMs();
    change(key, { state: { kind: 'busy', phase, sinceMs, progress, copied, tasks, windowMs } });
  };
  return {
    onEvent: (event) => {
      const key = keyOf(event);
      if (event.kind === 'containers_selected')
        for (const name of event.names) change(shownName({ name, engine: event.engine }), {});
      if (event.kind === 'container_checked') {
        const { reason, status, checked } = event;
        const version = versionCell({ from: checked?.version, to: checked?.latestVersion });
        const image = imageChange(event.image, checked?.candidate);
        change(key, { image, reason, version, state: { kind: 'checked', status, checked } });
      }
      if (event.kind === 'update_started') {
        const image = imageChange(event.formerImage ?? event.image, event.image);
        change(key, { image, reason: '' });
        enter(key, 'preparing');
      }
      if (event.kind === 'pull_progress') enter(key, 'pulling', { progress: event.progress });
      if (event.kind === 'phase_entered') enter(key, event.phase, event);
      if ('outcome' in event) {
        const { reason, outcome, tagChange, from, to } = event.outcome;
        const image = imageChange(tagChange?.from ?? event.outcome.image, tagChange?.to);
        const version = versionCell({ from, to });
        const why = causeFirst(reason, event.outcome.name);
        change(key, {
          image,
          reason: why,
          ...(version.text !== '' && { version }),
          state: { kind: 'done', outcome, ...defined({ from, to }) },
        });
      }
    },
    // The final table has the bare name too, beside the image.
    rows: () => [...rows].map(([key, row]) => viewOf(key.replace(/ service$/, ''), row, clock.monotonicMs())),
  };
}

/** The row of an event about one container or service; empty for other events. */
function keyOf(event: ServiceEvent): string {
  if ('outcome' in event) return fleetKeyOf(event.engine, event.outcome);
  if (!('container' in event)) return '';
  const kind = 'entryKind' in event ? event.entryKind : undefined;
  return fleetKeyOf(event.engine, { name: event.container, kind });
}

type Progress = {
  readonly progress?: PullProgress;
  readonly copied?: CopyProgress;
  readonly tasks?: TaskProgress;
  readonly windowMs?: number;
};

type Row = { readonly image: string; readonly version: Cell; readonly state: RowState; readonly reason: string };

type RowState =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'checked'; readonly status: string; readonly checked: CheckedFacts | undefined }
  | {
      readonly kind: 'busy';
      readonly phase: UpdatePhase;
      readonly sinceMs: number;
      readonly progress: PullProgress | undefined;
      readonly copied: CopyProgress | undefined;
      readonly tasks: TaskProgress | undefined;
      readonly windowMs: number | undefined;
    }
  | ({ readonly kind: 'done'; readonly outcome: OutcomeKind } & Versions);

const newRow: Row = { image: '', version: { text: '', style: 'plain' }, state: { kind: 'waiting' }, reason: '' };

function viewOf(name: string, { image, version, state, reason }: Row, nowMs: number): ViewRow {
  const unknown: Cell = { text: '', style: 'plain' };
  const isNews = state.kind !== 'checked' || !/^(?:fresh|stale|pinned|local)$/.test(state.status);
  const shown = { name, image, state: stateCell(state, nowMs), reason: isNews ? reason : '' };
  const cells = rowOf({ ...shown, version, age: unknown });
  return { cells, interest: interestOf(state) };
}

function stateCell(state: RowState, nowMs: number): Cell {
  switch (state.kind) {
    case 'waiting':
      return { text: 'waits for its turn', style: 'grey' };
    case 'checked':
      return wordingOfStatus(state.status, state.checked);
    case 'busy':
      return {
        text: `${words.phase[state.phase]}${detailOf(state, nowMs)}`,
        style: state.phase === 'rolling back' ? 'red' : 'cyan',
      };
    case 'done':
      return sayResult(state);
  }
}

/** The progress of a pull or a copy, the tasks of a service, or the time in a long phase: `7 of 10s` of a health window. */
function detailOf({ sinceMs, progress, copied, tasks, windowMs }: RowState & { kind: 'busy' }, nowMs: number): string {
  if (progress !== undefined && progress.layers > 0) return ` ${progressText(progress)}`;
  if (copied !== undefined) return ` ${shareText(copied)}`;
  if (tasks !== undefined) return ` ${formatTasks(tasks)}`;
  const seconds = Math.floor((nowMs - sinceMs) / 1000);
  if (windowMs !== undefined && nowMs - sinceMs < windowMs)
    return ` ${seconds} of ${formatDuration(Math.ceil(windowMs / 1000) * 1000)}`;
  return seconds < 2 ? '' : ` ${formatDuration(seconds * 1000)}`;
}

function progressText({ bytes, totalBytes, layersDone, layers }: PullProgress): string {
  return totalBytes <= 0 ? `${layersDone}/${layers} layers` : shareText({ bytes, totalBytes });
}

function shareText(progress: CopyProgress): string {
  return `${percentOf(progress) ?? 0}% of ${megabytes(progress.totalBytes)} MB`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(bytes < 10e6 ? 1 : 0);
}

function interestOf(state: RowState): ViewRow['interest'] {
  if (state.kind === 'busy') return 'busy';
  if (state.kind === 'done') return 'told';
  return state.kind === 'checked' && /^(?:stale|unknown)$/.test(state.status) ? 'told' : 'quiet';
}

/** The bottom lines of a terminal, redrawn when they change. */
type LiveRegion = {
  /** Marks the lines as outdated. */
  readonly changed: () => void;
  /** Removes the lines. Later output begins in their place. */
  readonly end: () => void;
};

/** Size of the drawing area. Lines must fit into it. */
type Room = { readonly columns: number; readonly rows: number };

/**
 * Keeps lines at the bottom of the terminal. Redraws them after a change, every second if they show time, and after a
 * resize, but at most ten times a second.
 */
export function createLiveRegion(
  terminal: Terminal,
  clock: Clock,
  lines: (room: Room) => readonly string[],
): LiveRegion {
  const { out } = terminal;
  const ending = new AbortController();
  let drawn: readonly string[] = [];
  let drawnAtMs = Number.NEGATIVE_INFINITY;
  let waiting = false;

  const draw = () => {
    if (ending.signal.aborted) return;
    const next = lines({ columns: Math.max(1, out.columns() - 1), rows: Math.max(1, out.rows() - 1) });
    lease.write(`${upTo(drawn, out.columns())}${next.map((line) => `${line}${clearLine}\n`).join('')}${clearBelow}`);
    drawn = next;
    drawnAtMs = clock.monotonicMs();
  };
  const clear = () => {
    lease.write(`${upTo(drawn, out.columns())}${clearBelow}`);
    drawn = [];
  };
  const changed = () => {
    if (waiting || ending.signal.aborted) return;
    const waitMs = drawnAtMs + shortestPauseMs - clock.monotonicMs();
    if (waitMs <= 0) {
      draw();
      return;
    }
    waiting = true;
    void waited(clock, waitMs, ending.signal).then(() => {
      waiting = false;
      draw();
    });
  };
  const tick = async () => {
    while (await waited(clock, tickMs, ending.signal)) changed();
  };

  const lease = terminal.takeBottomLines({ clear: clear, redraw: draw });
  const ignoreResizes = out.onResize(draw);
  draw();
  void tick();
  return {
    changed,
    end: () => {
      if (ending.signal.aborted) return;
      clear();
      ending.abort();
      ignoreResizes();
      lease.release();
    },
  };
}

const shortestPauseMs = 100;
const tickMs = 1000;

/** https://en.wikipedia.org/wiki/ANSI_escape_code#Control_Sequence_Introducer_commands */
const clearLine = '\u001b[K';
const clearBelow = '\u001b[J';

/** Moves to the first drawn line. A terminal that has become narrower has wrapped the lines into more rows. */
function upTo(drawn: readonly string[], columns: number): string {
  let rows = 0;
  for (const line of drawn) rows += Math.max(1, Math.ceil(displayWidth(line) / columns));
  return rows === 0 ? '' : `\u001b[${rows}A\r`;
}

/** False if the signal ended the wait. */
async function waited(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, signal);
    return true;
  } catch {
    return false;
  }
}
