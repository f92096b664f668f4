import { defined } from '../../../domain/text/plain-data.ts';
import { imageChange, versionCell, type Versions } from '../words/version-cell.ts';
import type { Cell } from '../terminal/cell.ts';
import { formatDuration } from '../../../domain/text/duration.ts';
import type { ServiceEvent, PullProgress } from '../../../domain/run/event.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import { type OutcomeKind, type UpdatePhase, fleetKeyOf, shownName } from '../../../domain/run/session.ts';
import type { TaskProgress } from '../../../domain/container/swarm-service.ts';
import { causeFirst, sayResult, wordingOfStatus, formatTasks } from '../words/wording.ts';
import { rowOf } from './container-table.ts';

/** Progress of a run, one row per container. */
export type RunView = {
  readonly hear: (event: ServiceEvent) => void;
  /** In the order of their first event. */
  readonly rows: () => readonly ViewRow[];
};

export type ViewRow = {
  /** In the order of `containerColumns`. */
  readonly cells: readonly Cell[];
  /** `busy`: an update runs. `told`: there is a result or a finding. `quiet`: no news. */
  readonly interest: 'busy' | 'told' | 'quiet';
};

export function createRunView(clock: Clock): RunView {
  /** By `fleetKeyOf`. */
  const rows = new Map<string, Row>();
  const change = (key: string, parts: Partial<Row>) => rows.set(key, { ...(rows.get(key) ?? newRow), ...parts });
  const enter = (key: string, phase: UpdatePhase, { progress, tasks }: Progress = {}) => {
    const state = rows.get(key)?.state;
    const sinceMs = state?.kind === 'busy' && state.phase === phase ? state.sinceMs : clock.monotonicMs();
    change(key, { state: { kind: 'busy', phase, sinceMs, progress, tasks } });
  };
  return {
    hear: (event) => {
      const key = keyOf(event);
      if (event.kind === 'containers_selected')
        for (const name of event.names) change(shownName({ name, engine: event.engine }), {});
      if (event.kind === 'container_checked') {
        const { reason, status, checked } = event;
        const version = versionCell({ from: checked?.version, to: checked?.latestVersion });
        const image = imageChange(event.image, checked?.candidate);
        change(key, { image, reason, version, state: { kind: 'checked', status } });
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

type Progress = { readonly progress?: PullProgress; readonly tasks?: TaskProgress };

type Row = { readonly image: string; readonly version: Cell; readonly state: RowState; readonly reason: string };

type RowState =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'checked'; readonly status: string }
  | {
      readonly kind: 'busy';
      readonly phase: UpdatePhase;
      readonly sinceMs: number;
      readonly progress: PullProgress | undefined;
      readonly tasks: TaskProgress | undefined;
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
      return wordingOfStatus(state.status);
    case 'busy':
      return {
        text: `${state.phase}${detailOf(state, nowMs)}`,
        style: state.phase === 'rolling back' ? 'red' : 'cyan',
      };
    case 'done':
      return sayResult(state);
  }
}

/** The progress of a pull, the tasks of a service, or the time in a long phase. */
function detailOf({ sinceMs, progress, tasks }: RowState & { kind: 'busy' }, nowMs: number): string {
  if (progress !== undefined && progress.layers > 0) return ` ${progressText(progress)}`;
  if (tasks !== undefined) return ` ${formatTasks(tasks)}`;
  const seconds = Math.floor((nowMs - sinceMs) / 1000);
  return seconds < 2 ? '' : ` ${formatDuration(seconds * 1000)}`;
}

function progressText({ bytes, totalBytes, layersDone, layers }: PullProgress): string {
  if (totalBytes <= 0) return `${layersDone}/${layers} layers`;
  const percent = Math.min(100, Math.floor((100 * bytes) / totalBytes));
  return `${percent}% of ${megabytes(totalBytes)} MB`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(bytes < 10e6 ? 1 : 0);
}

function interestOf(state: RowState): ViewRow['interest'] {
  if (state.kind === 'busy') return 'busy';
  if (state.kind === 'done') return 'told';
  return state.kind === 'checked' && /^(?:stale|unknown)$/.test(state.status) ? 'told' : 'quiet';
}
