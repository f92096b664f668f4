import type { Fleet } from '../fleet/fleet.ts';
import { type Group, groups, tell, type Told } from './tell.ts';

/** The number of containers in each state. */
export type Counts = Readonly<
  Record<Group | 'all' | 'bad' | 'rolledBack' | 'unknown' | 'approval' | 'interrupted' | 'running' | 'away', number>
> & {
  /** Names of the containers that an update would replace. */
  readonly updatable: readonly string[];
  readonly down: readonly string[];
  /** One mark for each container, in the order of the groups. */
  readonly marks: readonly Mark[];
};

export const markKinds = ['bad', 'wrong', 'ready', 'held', 'unchecked', 'fine'] as const;
export type Mark = (typeof markKinds)[number];

export function countFleet(fleet: Fleet, nowMs: number): Counts {
  const count = {
    all: 0,
    wrong: 0,
    ready: 0,
    held: 0,
    unchecked: 0,
    fine: 0,
    bad: 0,
    rolledBack: 0,
    unknown: 0,
    approval: 0,
    interrupted: 0,
    running: 0,
    away: 0,
  };
  const updatable: string[] = [];
  const down: string[] = [];
  const inMarks: Record<Mark, number> = { bad: 0, wrong: 0, ready: 0, held: 0, unchecked: 0, fine: 0 };
  for (const one of fleet.all()) {
    const told = tell(one, fleet.updateOf(one.name), nowMs);
    count.all += 1;
    count[told.group] += 1;
    inMarks[told.tone === 'bad' ? 'bad' : told.group] += 1;
    if (told.tone === 'bad') count.bad += 1;
    if (one.isAway) count.away += 1;
    else if (one.status === 'running') count.running += 1;
    else if (told.tone === 'bad') down.push(one.name);
    countIcon(told, count);
    if (told.action === 'update' && !one.isAway) updatable.push(one.name);
  }
  const marks = markKinds.flatMap((kind) => Array.from({ length: inMarks[kind] }, () => kind));
  return { ...count, updatable, down, marks };
}

function countIcon(
  { icon, tone }: Told,
  count: { rolledBack: number; unknown: number; approval: number; interrupted: number },
): void {
  if (icon === 'back' && tone === 'wrong') count.rolledBack += 1;
  if (icon === 'unknown') count.unknown += 1;
  if (icon === 'ask') count.approval += 1;
  if (icon === 'fail' && tone === 'wrong') count.interrupted += 1;
}

/** The filters above the table, in order. */
export const countLabels: Readonly<Record<Group | 'all', string>> = {
  all: 'Watched',
  wrong: 'Need a look',
  ready: 'Updates',
  held: 'Held back',
  unchecked: 'Not checked',
  fine: 'Up to date',
};

/** The titles of the groups of the table. */
export const groupTitles: Readonly<Record<Group | 'now', string>> = {
  now: 'In progress',
  wrong: 'Needs a look',
  ready: 'Updates',
  held: 'Held back',
  unchecked: 'Not checked yet',
  fine: 'Up to date',
};

export const groupOrder: readonly (Group | 'now')[] = ['now', ...groups];
