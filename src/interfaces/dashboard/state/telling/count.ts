import type { ContainerStore } from '../containers/container-store.ts';
import { plural } from '../words/sentences.ts';
import { type Group, groups, describeState } from './describe-state.ts';

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

export const markKinds = ['bad', ...groups] as const;
export type Mark = (typeof markKinds)[number];

export function countContainers(fleet: ContainerStore, nowMs: number): Counts {
  const all = fleet.all().map((one) => ({ one, told: describeState(one, fleet.updateOf(one.name), nowMs) }));
  type Each = (typeof all)[number];
  const count = (fits: (each: Each) => boolean) => all.filter(fits).length;
  const names = (fits: (each: Each) => boolean) => all.filter(fits).map(({ one }) => one.name);
  const markOf = ({ told }: Each): Mark => (told.tone === 'bad' ? 'bad' : told.group);
  return {
    all: all.length,
    wrong: count(({ told }) => told.group === 'wrong'),
    ready: count(({ told }) => told.group === 'ready'),
    held: count(({ told }) => told.group === 'held'),
    unchecked: count(({ told }) => told.group === 'unchecked'),
    fine: count(({ told }) => told.group === 'fine'),
    bad: count(({ told }) => told.tone === 'bad'),
    rolledBack: count(({ told }) => told.icon === 'back' && told.tone === 'wrong'),
    unknown: count(({ told }) => told.icon === 'unknown'),
    approval: count(({ told }) => told.icon === 'ask'),
    interrupted: count(({ told }) => told.icon === 'fail' && told.tone === 'wrong'),
    away: count(({ one }) => one.isAway),
    running: count(({ one }) => !one.isAway && one.status === 'running'),
    updatable: names(({ one, told }) => !one.isAway && told.action === 'update'),
    down: names(({ one, told }) => !one.isAway && one.status !== 'running' && told.tone === 'bad'),
    marks: markKinds.flatMap((kind) => all.map(markOf).filter((mark) => mark === kind)),
  };
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

/** `3 containers: 1 needs a look, 2 with an update, 0 held back, 0 up to date` */
export function countWords({ all, wrong, ready, held, unchecked, fine }: Counts): string {
  const parts = [
    `${wrong} ${wrong === 1 ? 'needs' : 'need'} a look`,
    `${ready} with an update`,
    `${held} held back`,
    unchecked > 0 ? `${unchecked} not checked yet` : '',
    `${fine} up to date`,
  ];
  return `${plural(all, 'container')}: ${parts.filter(Boolean).join(', ')}`;
}
