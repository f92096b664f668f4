import type { UnwatchedKind } from '../check/watch-rules.ts';
import type { Inventory, UnwatchedTracked } from '../inventory/inventory.ts';
import { fleetKeyOf, shownName } from '../run/session.ts';
import { type ContainerEntity, type Entities, entityOf } from './entities.ts';

/**
 * The entities over time, by name. An entity lives as long as its container's name: it outlives an update, a stop, and
 * any moment in which the engine lists no such container.
 */
export type Roster = {
  readonly entries: ReadonlyMap<string, RosterEntry>;
  readonly kept: readonly string[];
  /** When it was made, by the monotonic clock. */
  readonly atMs: number;
  /** Since when the list has been complete, by the monotonic clock; undefined while it is not. */
  readonly completeSinceMs: number | undefined;
  readonly isSettled: boolean;
  readonly lastCheckAtMs: number | undefined;
};

type RosterEntry = {
  readonly key: string;
  /** As of the last listing outside of an update. */
  readonly listed: ContainerEntity;
  readonly shown: ContainerEntity;
  /** When its container was last there, by the monotonic clock. */
  readonly seenAtMs: number;
};

export type RosterFacts = {
  readonly inventory: Inventory;
  readonly unwatched: readonly UnwatchedTracked[];
  /** The updates under way, by `fleetKeyOf`, with their progress from 0 to 100 if it is known. */
  readonly underWay: ReadonlyMap<string, number | undefined>;
  /** Why the last request for a container did nothing, by `fleetKeyOf`. */
  readonly notes: ReadonlyMap<string, string>;
  /** Ids of containers that were started with `--rm`. */
  readonly removedAtExit: ReadonlySet<string>;
  /** Whether every engine has just been listed. */
  readonly isComplete: boolean;
  /** Monotonic. */
  readonly nowMs: number;
};

export const emptyRoster: Roster = {
  entries: new Map(),
  kept: [],
  atMs: 0,
  completeSinceMs: undefined,
  isSettled: false,
  lastCheckAtMs: undefined,
};

export function nextRoster(before: Roster, facts: RosterFacts): Roster {
  const { inventory, underWay, isComplete, nowMs } = facts;
  const completeSinceMs = isComplete ? (before.completeSinceMs ?? nowMs) : undefined;
  const keys = new Set([...inventory.containers, ...inventory.unfinished].map((one) => fleetKeyOf(one.engine, one)));
  const entries = new Map<string, RosterEntry>();
  for (const container of inventory.containers) {
    const [plain, key] = [shownName(container), fleetKeyOf(container.engine, container)];
    const name = keys.has(plain) ? key : plain;
    // During an update the old and the new container have the name in turn: the entity shows the one from before.
    const frozen = underWay.has(key) ? before.entries.get(name)?.listed : undefined;
    const listed = frozen ?? entityOf(container, { name, isRemovedAtExit: facts.removedAtExit.has(container.id) });
    entries.set(name, { key, listed, shown: shownOf(listed, key, facts), seenAtMs: nowMs });
  }
  const presence = presenceOf(facts);
  for (const [name, { key, ...known }] of before.entries) {
    if (entries.has(name)) continue;
    const isThere = presence.has(key) || underWay.has(key);
    const seenAtMs = isThere || !isComplete ? nowMs : known.seenAtMs;
    if (nowMs - seenAtMs > goneAfterMs) continue;
    const state = presence.get(key);
    const listed = state ? withState(known.listed, state) : known.listed;
    entries.set(name, { key, listed, shown: shownOf(listed, key, facts), seenAtMs });
  }
  const shownKeys = new Set([...entries.values()].map(({ key }) => key));
  const checks = inventory.containers.flatMap(({ checkedAtMs }) => checkedAtMs ?? []);
  const lastCheckAtMs = Math.max(before.lastCheckAtMs ?? -Infinity, ...checks);
  return {
    entries,
    kept: [...presence.keys()].filter((key) => !shownKeys.has(key)),
    atMs: nowMs,
    completeSinceMs,
    isSettled: isOver(completeSinceMs, nowMs),
    lastCheckAtMs: lastCheckAtMs === -Infinity ? undefined : lastCheckAtMs,
  };
}

/** Whether another roster would follow from time alone. */
export function isWaiting({ entries, atMs, isSettled, completeSinceMs }: Roster, nowMs: number): boolean {
  return (
    (!isSettled && isOver(completeSinceMs, nowMs)) ||
    [...entries.values()].some(({ seenAtMs, shown }) => shown.isUpdating || seenAtMs < atMs)
  );
}

export function entitiesOf({ entries, kept, isSettled, lastCheckAtMs }: Roster): Entities {
  const containers = [...entries.values()].map(({ shown }) => shown);
  const known = containers.flatMap(({ isOutdated }) => isOutdated ?? []);
  return {
    containers,
    kept,
    isSettled,
    updatesAvailable: known.length === 0 ? undefined : known.filter(Boolean).length,
    lastCheckAtMs,
  };
}

/**
 * Longer than a container is absent while another program replaces it. An update of Upkeep is seen in the engine
 * however long it takes.
 */
export const goneAfterMs = 600_000;

function isOver(sinceMs: number | undefined, nowMs: number): boolean {
  return sinceMs !== undefined && nowMs - sinceMs > goneAfterMs;
}

/** Containers that exist and are not watched at this moment, with their state; empty if it is not known. */
function presenceOf({ inventory, unwatched }: RosterFacts): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { name, engine, kind } of unwatched)
    if (kind === undefined || momentary.has(kind)) found.set(fleetKeyOf(engine, { name }), kind ?? '');
  for (const { name, engine } of inventory.unfinished) found.set(fleetKeyOf(engine, { name }), '');
  return found;
}

/** Reasons that end without a change of settings. */
const momentary: ReadonlySet<UnwatchedKind> = new Set(['stopped', 'restarting']);

function withState(entity: ContainerEntity, state: string): ContainerEntity {
  return { ...entity, attributes: { ...entity.attributes, state } };
}

function shownOf(listed: ContainerEntity, key: string, { underWay, notes }: RosterFacts): ContainerEntity {
  const [percent, summary] = [underWay.get(key), notes.get(key)];
  return {
    ...listed,
    isUpdating: underWay.has(key),
    ...(percent !== undefined && { percent }),
    ...(summary !== undefined && { summary }),
  };
}
