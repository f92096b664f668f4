import { remarkOf } from '../../../domain/check/verdict.ts';
import { shownName } from '../../../domain/run/session.ts';
import { printable } from '../../../domain/text/printable.ts';
import type { ContainerView, Finding, UnwatchedView } from '../context/views.ts';
import type { Cell, Column } from '../terminal/cell.ts';
import type { Table } from '../terminal/table.ts';
import { type Row, rowOf } from './container-table.ts';
import { statusWording, unfinishedWording, type Wording } from '../words/wording.ts';
import { ageCell, imageChange, versionCell } from '../words/version-cell.ts';

const columns: readonly Column[] = [
  { title: 'CONTAINER', min: 12, keep: 'start', dropPriority: 0 },
  { title: 'UPDATE', min: 10, keep: 'start', dropPriority: 1 },
  { title: 'VERSION', min: 10, keep: 'end', dropPriority: 3 },
  { title: 'RELEASED', min: 6, keep: 'start', dropPriority: 4 },
  { title: 'STATE', min: 8, keep: 'start', dropPriority: 2 },
  { title: 'IMAGE', min: 12, keep: 'end', dropPriority: 5 },
  { title: 'WHY', min: 20, keep: 'start', dropPriority: 6, isSentence: true },
];

/** The table of containers: urgent ones first, unwatched ones last. */
export function inventoryTable(
  containers: readonly ContainerView[],
  unwatched: readonly UnwatchedView[],
  nowMs: number,
): InventoryTable {
  const sorted = containers.toSorted((one, other) => urgencyOf(one.finding) - urgencyOf(other.finding));
  return withoutUniform({
    columns,
    rows: [
      ...sorted.map((container) => watchedRow(container, nowMs)),
      ...unwatched.map(({ image, reason, ...one }) => {
        const state = { text: 'not watched', style: 'grey' } as const;
        return cells(
          { name: shownName(one), state, version: nothing, age: nothing, image, reason: `It ${reason}` },
          '',
        );
      }),
    ],
  });
}

/** The same table without the columns UPDATE and STATE if three or more rows all say the same there; a note says it once. */
function withoutUniform(table: Table): InventoryTable {
  const uniform = table.columns.flatMap(({ title }, at) => {
    const texts = new Set(table.rows.map((row) => row[at]?.text ?? ''));
    const isSame = table.rows.length > 2 && texts.size === 1 && (title === 'UPDATE' || title === 'STATE');
    return isSame ? [{ at, text: [...texts].join('') }] : [];
  });
  if (uniform.length === 0) return { ...table, note: '' };
  const isShown = (_: unknown, at: number) => !uniform.some((one) => one.at === at);
  return {
    columns: table.columns.filter(isShown),
    rows: table.rows.map((row) => row.filter(isShown)),
    note: `All of them: ${uniform.map(({ text }) => text).join(', ')}`,
  };
}

type InventoryTable = Table & { readonly note: string };

function watchedRow({ finding, ...container }: ContainerView, nowMs: number): readonly Cell[] {
  const isNewer =
    finding.kind !== 'unchecked' && finding.kind !== 'unfinished' && /^(?:stale|held)$/.test(finding.status);
  const row = {
    name: shownName(container),
    image: imageChange(container.image, isNewer ? container.candidate : undefined),
    state: wordingOf(finding),
    version: versionCell({ from: container.version, to: container.latestVersion }),
    age: ageCell(isNewer ? container.releasedAtMs : undefined, nowMs),
    reason: isPlain(finding) ? remarkOf(container.reason) : container.reason,
  };
  return cells(row, container.state);
}

/** The cells of every list of containers, and the state of the container. */
function cells(row: Row, state: string): readonly Cell[] {
  return rowOf(row).toSpliced(stateColumn, 0, { text: printable(state, 100), style: 'plain' });
}

const stateColumn = columns.findIndex(({ title }) => title === 'STATE');

const nothing: Cell = { text: '', style: 'plain' };

/** True if the reason would repeat the state. */
function isPlain(finding: Finding): boolean {
  return finding.kind === 'checked' && /^(?:fresh|stale|pinned|local)$/.test(finding.status);
}

/** Without verdicts, no finding may also mean that the check failed. The reason shows it. */
const toldWording = {
  'nothing found': { text: 'no update found', style: 'plain' },
  stale: statusWording.stale,
  held: statusWording.held,
} as const;

function wordingOf(finding: Finding): Wording {
  switch (finding.kind) {
    case 'checked':
      return statusWording[finding.status];
    case 'told':
      return toldWording[finding.status];
    case 'unfinished':
      return unfinishedWording[finding.state];
    case 'unchecked':
      return { text: 'not checked yet', style: 'grey' };
  }
}

/** In the order of the wordings. */
function urgencyOf(finding: Finding): number {
  const texts = [...Object.values(unfinishedWording), ...Object.values(statusWording)].map(({ text }) => text);
  const found = texts.indexOf(wordingOf(finding).text);
  return found === -1 ? texts.length : found;
}
