import type { Cell, Column } from '../terminal/cell.ts';
import { printable } from '../../../domain/text/printable.ts';
import type { ContainerOutcome } from '../../../domain/run/session.ts';
import type { CheckedContainer, UnfinishedContainer } from '../context/application-types.ts';
import { sayDowntime } from './downtime.ts';
import type { Table } from '../terminal/table.ts';
import { outcomeWording, statusWording, unfinishedWording, type Wording } from './wording.ts';

/** One row per container, wherever containers are listed: name, image, state, reason. */
export const containerColumns: readonly Column[] = [
  { title: 'CONTAINER', min: 12, keep: 'start', expendable: 0 },
  { title: 'IMAGE', min: 16, keep: 'end', expendable: 2 },
  { title: 'STATUS', min: 10, keep: 'start', expendable: 1 },
  { title: 'WHY', min: 20, keep: 'start', expendable: 3 },
];

/** A container with an unfinished update shows that in place of its check. */
export function checkTable(
  containers: readonly CheckedContainer[],
  unfinished: readonly UnfinishedContainer[] = [],
): Table {
  const isUnfinished = new Set(unfinished.map(({ name }) => name));
  const checked = containers.filter(({ name }) => !isUnfinished.has(name));
  const rows = [
    ...checked.map(({ name, image, status, reason, error }) =>
      row(name, image, statusWording[status], error ?? reason),
    ),
    ...unfinished.map(({ name, image, state, reason }) => row(name, image, unfinishedWording[state], reason)),
  ];
  return { columns: containerColumns, rows };
}

export function outcomeTable(containers: readonly ContainerOutcome[]): Table {
  const rows = containers.map((container) =>
    row(container.name, container.image, outcomeWording[container.outcome], sayWhy(container)),
  );
  return { columns: containerColumns, rows };
}

function sayWhy({ reason, downtimeMs, stoppingMs }: ContainerOutcome): string {
  const down = sayDowntime(downtimeMs, stoppingMs);
  if (down === '') return reason;
  return reason === '' ? down : `${reason} (${down})`;
}

function row(name: string, image: string, state: Wording, reason: string): readonly Cell[] {
  return [
    { text: printable(name, longestName), style: 'bold' },
    { text: shortImage(image), style: 'plain' },
    state,
    { text: printable(reason, longestReason), style: 'plain' },
  ];
}

/** A reference as it is, but for a digest, of which twelve digits tell enough. */
export function shortImage(image: string): string {
  return printable(image, longestName).replace(/@sha(?:256|512):([0-9a-f]{12})[0-9a-f]+/, '@$1');
}

const longestName = 300;
const longestReason = 2000;
