import type { Address } from '../address.ts';
import type { ContainerStore } from '../containers/container-store.ts';
import type { WatchedContainer } from '../documents/container.ts';
import { type Group, groups, describeState } from './describe-state.ts';

/** A group of rows. `key` is the state, or the project's name. */
export type RowGroup = { readonly key: string; readonly title: string; readonly members: readonly WatchedContainer[] };

type Grouping = Address['group'];

/** The groups and rows of the table in order, made at load and when the grouping changes. Events never move a row. */
export function groupContainers(fleet: ContainerStore, by: Grouping, nowMs: number): readonly RowGroup[] {
  const inRun = new Set(fleet.isRunning() ? fleet.inRun() : []);
  const ranked = fleet.all().map((one) => {
    const state: Group | 'now' = inRun.has(one.name)
      ? 'now'
      : describeState(one, fleet.updateOf(one.name), nowMs).group;
    return { one, state, rank: groupOrder.indexOf(state) };
  });
  ranked.sort((a, b) => a.rank - b.rank || collator.compare(a.one.name, b.one.name));
  const buckets = new Map<string, RowGroup & { readonly members: WatchedContainer[] }>();
  for (const { one, state } of ranked) {
    const { key, title } = bucketIn(state, one, by);
    const bucket = buckets.get(key);
    if (bucket === undefined) buckets.set(key, { key, title, members: [one] });
    else bucket.members.push(one);
  }
  return [...buckets.values()];
}

/** The group of a container that was added later. */
export function rowGroupOf(
  one: WatchedContainer,
  fleet: ContainerStore,
  by: Grouping,
  nowMs: number,
): Omit<RowGroup, 'members'> {
  return bucketIn(describeState(one, fleet.updateOf(one.name), nowMs).group, one, by);
}

/** Made once, because this is a hundred times faster than `localeCompare` for each pair. */
const collator = new Intl.Collator('en', { numeric: true });

function bucketIn(state: Group | 'now', { project }: WatchedContainer, by: Grouping): Omit<RowGroup, 'members'> {
  if (by === 'status') return { key: state, title: groupTitles[state] };
  return project === '' ? { key: '–', title: 'Without a project' } : { key: project, title: project };
}

/** The titles of the groups of the table. */
const groupTitles: Readonly<Record<Group | 'now', string>> = {
  now: 'In progress',
  wrong: 'Needs a look',
  ready: 'Updates',
  held: 'Held back',
  unchecked: 'Not checked yet',
  fine: 'Up to date',
};

const groupOrder: readonly (Group | 'now')[] = ['now', ...groups];
