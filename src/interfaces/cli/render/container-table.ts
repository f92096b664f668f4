import type { Cell, Column } from '../terminal/style.ts';
import type { Table } from '../terminal/table.ts';
import { remarkOf } from '../../../domain/check/verdict.ts';
import { printable } from '../../../domain/text/printable.ts';
import { type ContainerOutcome, shownName } from '../../../domain/run/session.ts';
import type { CheckReport } from '../context/context.ts';
import type { CheckedContainer } from '../../json/entries.ts';
import {
  maxUrgentFirst,
  runWording,
  sayResult,
  statusWording,
  unfinishedWording,
  wordOf,
  causeFirst,
  formatDowntime,
  ageCell,
  imageChange,
  versionCell,
  wordingOfCheck,
  type Wording,
} from '../context/wording.ts';

/** The columns of every list of containers. */
export const containerColumns: readonly Column[] = [
  { title: 'CONTAINER', min: 12, keep: 'start', dropPriority: 0 },
  { title: 'STATUS', min: 10, keep: 'start', dropPriority: 1 },
  { title: 'VERSION', min: 10, keep: 'end', dropPriority: 2 },
  { title: 'RELEASED', min: 6, keep: 'start', dropPriority: 3 },
  { title: 'IMAGE', min: 12, keep: 'end', dropPriority: 4 },
  { title: 'WHY', min: 20, keep: 'start', dropPriority: 5, isSentence: true },
];

export type Row = {
  readonly name: string;
  readonly state: Wording;
  readonly version: Cell;
  readonly age: Cell;
  readonly image: string;
  /** Empty if the state is enough. */
  readonly reason: string;
};

/** Unfinished updates come first, with their state instead of their check. */
export function checkTable(
  containers: readonly CheckedContainer[],
  unfinished: CheckReport['unfinished'],
  nowMs: number,
): Table {
  const checked = withoutUnfinished(containers, unfinished);
  return containerTable([
    ...maxUrgentFirst(unfinished, unfinishedWording, ({ state }) => state).map(({ image, state, reason, ...one }) => ({
      name: shownName(one),
      image,
      state: unfinishedWording[state],
      reason,
      ...unknownVersion,
    })),
    ...maxUrgentFirst(checked, statusWording, ({ status }) => status).map((container) => ({
      name: shownName(container),
      image: imageChange(container.image, container.candidate),
      state: wordingOfCheck(container.status, container),
      version: versionCell({ from: container.version, to: container.latestVersion }),
      age: ageCell(container.updateAvailable ? container.releasedAtMs : undefined, nowMs),
      reason: reasonOfCheck(container),
    })),
  ]);
}

/** A container whose update is unfinished may be checked too. */
export function withoutUnfinished(
  containers: readonly CheckedContainer[],
  unfinished: CheckReport['unfinished'],
): readonly CheckedContainer[] {
  const names = new Set(unfinished.map(shownName));
  return containers.filter((container) => !names.has(shownName(container)));
}

export function outcomeTable(containers: readonly ContainerOutcome[]): Table {
  return containerTable(
    maxUrgentFirst(containers, runWording, wordOf).map((container) => ({
      name: shownName(container),
      image: imageChange(container.tagChange?.from ?? container.image, container.tagChange?.to),
      state: sayResult(container),
      version: versionCell({ from: container.from, to: container.to }),
      age: unknownVersion.age,
      reason: sayWhy(container),
    })),
  );
}

const unknownVersion = { version: versionCell({}), age: ageCell(undefined, 0) };

/** Only if the state is not enough. */
function reasonOfCheck({ status, reason, error, pullDigest, latestDigest }: CheckedContainer): string {
  const isPlainUpdate = status === 'stale' && pullDigest === latestDigest;
  if (status === 'fresh') return remarkOf(reason);
  return isPlainUpdate || /^(?:pinned|local)$/.test(status) ? '' : (error ?? reason);
}

function sayWhy(container: ContainerOutcome): string {
  const { name, reason: whole, outcome } = container;
  if (outcome === 'fresh') return remarkOf(whole);
  const reason = causeFirst(whole, name);
  const down = formatDowntime(container);
  if (down === '') return reason;
  return reason === '' ? down : `${reason} (${down})`;
}

function containerTable(rows: readonly Row[]): Table {
  return { columns: containerColumns, rows: rows.map(rowOf) };
}

/** The cells in the order of the columns. */
export function rowOf({ name, state, version, age, image, reason }: Row): readonly Cell[] {
  return [
    { text: printable(name, maxName), style: 'bold' },
    state,
    version,
    age,
    { text: shortImage(image), style: 'plain' },
    { text: printable(reason, maxReason), style: 'plain' },
  ];
}

/** A reference with its digest shortened to twelve digits. */
function shortImage(image: string): string {
  return printable(image, maxName).replace(/@sha(?:256|512):([0-9a-f]{12})[0-9a-f]+/, '@$1');
}

const maxName = 300;
const maxReason = 2000;
