import type { Address } from '../address.ts';
import type { ContainerStore } from '../containers/container-store.ts';
import type { WatchedContainer } from '../documents/container.ts';
import { plural } from '../words.ts';
import { describeState, groups, groupTitles, type DescribedState, type Group } from './describe-state.ts';

/** Each container in its group: the one source of row groups, headings and counters. */
export type Arrangement = { readonly groups: readonly RowGroup[]; readonly counts: Counts };

/** A group of rows. `key` is the state, or the project's name. */
export type RowGroup = { readonly key: string; readonly title: string; readonly members: readonly Placed[] };

export type Placed = { readonly one: WatchedContainer; readonly described: DescribedState };

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
type Mark = (typeof markKinds)[number];

/** The groups that need a person first, the names in each in the order of their numbers. */
export function arrangeContainers(containers: ContainerStore, by: Address['group'], nowMs: number): Arrangement {
  const all = containers
    .all()
    .map((one) => ({ one, described: describeState(one, containers.updateOf(one.name), nowMs) }));
  const rank = ({ described }: Placed): number => groups.indexOf(described.group);
  all.sort((a, b) => rank(a) - rank(b) || collator.compare(a.one.name, b.one.name));
  const buckets = new Map<string, RowGroup & { readonly members: Placed[] }>();
  for (const placed of all) {
    const { key, title } = bucketOf(placed, by);
    const bucket = buckets.get(key);
    if (bucket === undefined) buckets.set(key, { key, title, members: [placed] });
    else bucket.members.push(placed);
  }
  return { groups: [...buckets.values()], counts: countsOf(all) };
}

/** The order of names. Made once, because this is a hundred times faster than `localeCompare` for each pair. */
export const collator = new Intl.Collator('en', { numeric: true });

function bucketOf({ one: { project }, described }: Placed, by: Address['group']): Omit<RowGroup, 'members'> {
  if (by === 'status') return { key: described.group, title: groupTitles[described.group] };
  return project === '' ? { key: '–', title: 'Without a project' } : { key: project, title: project };
}

function countsOf(all: readonly Placed[]): Counts {
  const count = (fits: (each: Placed) => boolean) => all.filter(fits).length;
  const names = (fits: (each: Placed) => boolean) => all.filter(fits).map(({ one }) => one.name);
  const inGroup = (group: Group) => count(({ described }) => described.group === group);
  const markOf = ({ described }: Placed): Mark => (described.tone === 'bad' ? 'bad' : described.group);
  return {
    all: all.length,
    now: inGroup('now'),
    wrong: inGroup('wrong'),
    ready: inGroup('ready'),
    held: inGroup('held'),
    unchecked: inGroup('unchecked'),
    fine: inGroup('fine'),
    bad: count(({ described }) => described.tone === 'bad'),
    rolledBack: count(({ described }) => described.icon === 'back' && described.tone === 'wrong'),
    unknown: count(({ described }) => described.icon === 'unknown'),
    approval: count(({ described }) => described.icon === 'ask'),
    interrupted: count(({ described }) => described.icon === 'fail' && described.tone === 'wrong'),
    away: count(({ one }) => one.isAway),
    running: count(({ one }) => !one.isAway && one.status === 'running'),
    updatable: names(({ one, described }) => !one.isAway && described.action === 'update'),
    down: names(({ one, described }) => !one.isAway && one.status !== 'running' && described.tone === 'bad'),
    marks: markKinds.flatMap((kind) => all.map(markOf).filter((mark) => mark === kind)),
  };
}

/** `3 containers: 1 needs a look, 2 with an update, 0 held back, 0 up to date` */
export function countWords({ all, now, wrong, ready, held, unchecked, fine }: Counts): string {
  const parts = [
    now > 0 ? `${now} in progress` : '',
    `${wrong} ${wrong === 1 ? 'needs' : 'need'} a look`,
    `${ready} with an update`,
    `${held} held back`,
    unchecked > 0 ? `${unchecked} not checked yet` : '',
    `${fine} up to date`,
  ];
  return `${plural(all, 'container')}: ${parts.filter(Boolean).join(', ')}`;
}

/** The facts of a row that filters use, stored when the row is painted. */
export type RowFacts = { readonly group: Group; readonly text: string; readonly engine: string };

export function factsOf({ name, image, project, engine }: WatchedContainer, group: Group): RowFacts {
  return { group, text: `${name} ${image} ${project} ${engine}`.toLowerCase(), engine };
}

/** A test of rows for an address: by state, engine, and every word of the search. */
export function filterFor({ show, q, engine }: Address): {
  readonly isOn: boolean;
  readonly fits: (row: RowFacts) => boolean;
} {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return {
    isOn: words.length > 0 || show !== 'all' || engine !== '',
    fits: (row) =>
      (show === 'all' || row.group === show) &&
      (engine === '' || row.engine === engine) &&
      words.every((word) => row.text.includes(word)),
  };
}
