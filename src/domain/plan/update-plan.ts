import {
  desiredEndStateOf,
  type DesiredEndState,
  type DesiredEndStateSettings,
} from '../settings/effective-settings.ts';
import type { Container } from '../container/container.ts';
import type { PlannedUnit } from '../container/quadlet.ts';
import {
  awaitedJobs,
  replacedTogetherWith,
  conditionalOn,
  dependenciesOfId,
  hardDependenciesOfId,
  strongComponents,
  type DependencyGraph,
  type PlannedRestart,
  planRestarts,
} from './dependency-graph.ts';
import type { OwnWays } from '../self-update/own-ways.ts';
import { quoted } from '../text/printable.ts';
import { getsFreshVolumes, whyNotReplaceable, type ReplacementContext } from './replacement.ts';
import { savedDataOf, whyWritten, type SavedData } from './saved-data.ts';
import type { ComposeCondition } from '../container/lookup.ts';
import type { VerifiedImage } from '../outside/registry.ts';
import type { Digest } from '../image/image-reference.ts';
import { addTo } from '../text/plain-data.ts';

/** The steps of an update as data: printable, and testable without an engine. */
export type UpdatePlan = {
  /** In an order that respects `after`. */
  readonly transactions: readonly PlannedTransaction[];
  /** Absent: none. */
  readonly canaries?: readonly CanaryGroup[];
  /** The updates of the engine's doors, one after another after all others. A helper finishes each. Absent: none. */
  readonly doors?: readonly PlannedTransaction[];
  /** The update of the container that we run in. It begins last of all, and a helper finishes it. */
  readonly self?: PlannedTransaction;
  /** Stale containers that must not be changed. */
  readonly refused: readonly {
    readonly name: string;
    readonly id: string;
    readonly reason: string;
    /** Only for now, and no setting forbids its update. */
    readonly isDeferred?: true;
    /** Its owner asked for a copy of its data that cannot be made: a failure, not a choice. */
    readonly isFailure?: true;
  }[];
  /** Updates of a swarm's services, beside the transactions, executed by the swarm. Absent: none. */
  readonly services?: readonly PlannedService[];
  /** Restarts after the transactions, in order. */
  readonly restarts: readonly PlannedRestart[];
};

export type MadePlan = {
  readonly plan: UpdatePlan;
  /** Ids of all containers there are, in listing order. */
  readonly listing: readonly string[];
  /** Absent: none. */
  readonly ways?: OwnWays;
};

/** Several transactions with one new image. The first one that can prove the image is the canary. */
export type CanaryGroup = {
  /** See `newImageOf`. */
  readonly image: string;
  /** Ids in the order of the plan. Each transaction waits until an earlier one has passed or failed. */
  readonly transactions: readonly string[];
};

type PlanInput = Omit<ReplacementContext, 'jobs' | 'moved'> & {
  readonly settings: DesiredEndStateSettings;
  /** Why a container must not be changed (`is monitored only`), by id. */
  readonly optedOut: ReadonlyMap<string, string>;
  readonly stale: readonly StaleContainer[];
};

/**
 * Groups each stale container with its hard dependents into one transaction, and orders the transactions. A dependency
 * that is not stale is not changed: dependents move with their target, never the reverse.
 */
export function planUpdate(given: PlanInput): UpdatePlan {
  const { graph } = given;
  const stale = new Map(given.stale.map((container) => [container.id, container]));
  const input = { ...given, stale, jobs: awaitedJobs(graph) };
  const known = [...stale.keys()].filter((id) => graph.containers.has(id));
  const moved = replacedTogetherWith(graph, known);
  const transactions: Omit<PlannedTransaction, 'after'>[] = [];
  const refusals = new Map<string, Pick<UpdatePlan['refused'][number], 'reason' | 'isFailure'>>();
  for (const group of groupsOf(graph, moved)) {
    const endings = endingsOf(group, input);
    const transaction = transactionOf(group, endings, input);
    const reason = whyRefused(group, endings, input);
    const failure = reason ?? whyNoCopy(transaction.members, input);
    for (const { id } of group) {
      if (failure === undefined) continue;
      refusals.set(id, reason === undefined ? { reason: failure, isFailure: true } : { reason });
    }
    if (failure === undefined) transactions.push(transaction);
  }
  const members = transactions.flatMap((transaction) => transaction.members);
  const startedAnew = members
    .filter(({ desiredEndState }) => desiredEndState !== 'stopped')
    .map(({ container }) => container.id);
  return {
    ...ownLast(inOrder(transactions, graph), input),
    restarts: planRestarts({ ...given, startedAnew, optedOut: new Map([...given.optedOut, ...given.doors]) }),
    refused: given.stale
      .filter(({ id }) => refusals.has(id) || !graph.containers.has(id))
      .map(({ id, name }) => ({
        id,
        name,
        ...(refusals.get(id) ?? { reason: 'It could not be inspected, or is gone' }),
      })),
  };
}

/** Containers that a helper replaces come last. Their dependents wait for their dependencies instead. */
function ownLast(
  transactions: readonly PlannedTransaction[],
  { ownId, doors: byId }: Pick<PlanInput, 'ownId' | 'doors'>,
): Pick<UpdatePlan, 'transactions' | 'doors' | 'self'> {
  const holding = (test: (id: string) => boolean) =>
    transactions.filter(({ members }) => members.some(({ container }) => test(container.id)));
  const [self] = holding((id) => id === ownId);
  const doors = holding((id) => byId.has(id));
  const last = new Map([...doors, ...(self === undefined ? [] : [self])].map((one) => [one.id, one]));
  const around = (after: readonly string[], seen: readonly string[] = []): readonly string[] =>
    after.flatMap((id) => {
      const passed = last.get(id);
      return passed === undefined ? [id] : seen.includes(id) ? [] : around(passed.after, [...seen, id]);
    });
  const others = transactions.filter(({ id }) => !last.has(id));
  const alone = (one: PlannedTransaction) => ({ ...one, after: [] });
  return {
    transactions: others.map((other) => ({ ...other, after: [...new Set(around(other.after))] })),
    ...(doors.length > 0 && { doors: doors.map(alone) }),
    ...(self !== undefined && { self: alone(self) }),
  };
}

/** `jobs`: ids of jobs that other containers wait for. */
type KnownInput = Omit<PlanInput, 'stale'> & {
  readonly jobs: ReadonlySet<string>;
  readonly stale: ReadonlyMap<string, StaleContainer>;
};

function endingsOf(group: readonly Container[], { jobs, stale, settings }: KnownInput): Endings {
  const part = ({ id }: Container) => ({ isLinked: !stale.has(id), isJob: jobs.has(id) });
  return new Map(group.map((container) => [container.id, desiredEndStateOf(container, part(container), settings)]));
}

function whyRefused(group: readonly Container[], moved: Endings, input: KnownInput): string | undefined {
  for (const container of group) {
    const why = input.optedOut.get(container.id) ?? whyNotReplaceable(container, { ...input, moved });
    if (why !== undefined) return groupReason(group.length, container, why);
  }
  return undefined;
}

function groupReason(count: number, { name }: Container, why: string): string {
  return count === 1 ? `It ${why}` : `${count} containers have to move together, and ${quoted(name)} ${why}`;
}

/** Why the data of a member cannot be copied, as far as settings and other containers show. */
function whyNoCopy(members: readonly PlannedMember[], { graph }: KnownInput): string | undefined {
  const group = new Set(members.map(({ container }) => container.id));
  for (const { container, data, unit } of members) {
    if (data === undefined) continue;
    const byUnit = unit && 'is restarted by its systemd unit, so its data cannot be copied while it is stopped';
    const why =
      byUnit ?? data.fault ?? whyWritten(container, data.items, { containers: graph.containers.values(), group });
    if (why !== undefined) return groupReason(members.length, container, why);
  }
  return undefined;
}

/** One group of containers that moves together or not at all. */
export type PlannedTransaction = {
  /** The id of the leader's container (the first member): unique in the plan. */
  readonly id: string;
  /** Dependencies come first. The members of a cycle are sorted by name. */
  readonly members: readonly PlannedMember[];
  /** Ids of transactions that must succeed first, because a container here depends on one there. */
  readonly after: readonly string[];
  /** Compose conditions of its members on other containers. By name, because one may have been replaced by then. */
  readonly requires: readonly { readonly name: string; readonly condition: ComposeCondition }[];
};

export type PlannedMember = NewImage & {
  readonly container: Container;
  /**
   * `stale`: it has a newer image. `linked`: same image, re-created because of a hard dependency on a replaced member.
   */
  readonly cause: 'stale' | 'linked';
  /** Ids of the members that it has a hard dependency on: shared namespaces, legacy links, `volumes_from`. */
  readonly hardDependencies: readonly string[];
  /** Its data that are copied and put back, and the rest. Absent: no copy is asked for, or nothing new is started. */
  readonly data?: SavedData;
  /** The unit of systemd that makes its successor. Absent: Upkeep makes it. */
  readonly unit?: PlannedUnit;
  /** Others use its volumes (`volumes_from`), and must find the same ones in its successor. */
  readonly lendsVolumes?: true;
  readonly desiredEndState: DesiredEndState;
  /** Ids of the members that must be proven before this one starts, as with compose's `service_healthy`. */
  readonly waitsFor: readonly string[];
};

/** The image that a container gets. */
type NewImage = {
  /**
   * `Config.Image` of the new container, such as `nginx:1.27`: the old container's, verbatim (from an inspection if the
   * list showed a bare id), unless the update changes the tag.
   */
  readonly reference: string;
  /** `Config.Image` of the old container, verbatim. Present only if the update changes the tag. */
  readonly formerReference?: string;
  /** Digest to pull. Undefined when the engine has the image (`linked`, or `no-pull`). */
  readonly digest: Digest | undefined;
  /** The image of that digest whose signature was checked: no other may run. Absent: no signature is needed. */
  readonly verified?: VerifiedImage;
  /** An image by its id, preferred if the engine has it. */
  readonly imageId?: string;
  /** Present: only that image in the engine may be used, because nobody has verified a signature of the digest. */
  readonly mustBeHeld?: true;
};

export type StaleContainer = NewImage & {
  readonly id: string;
  readonly name: string;
  /** Why it waits though it is stale; absent: it does not wait. */
  readonly waitsBecause?: string;
};

/** The moved containers in groups connected by hard dependencies, targets first. */
function groupsOf(graph: DependencyGraph, moved: ReadonlySet<string>): readonly (readonly Container[])[] {
  const linked = linksAmong(graph, moved);
  const leaderOf = new Map<string, string>();
  for (const leader of moved) {
    if (leaderOf.has(leader)) continue;
    const group = new Set([leader]);
    // A Set may grow during iteration; added ids are visited too.
    for (const id of group) for (const other of linked.get(id) ?? []) group.add(other);
    for (const id of group) leaderOf.set(id, leader);
  }
  const groups = new Map<string, Container[]>();
  for (const id of targetsFirst(graph, moved)) {
    const [leader = id, container] = [leaderOf.get(id), graph.containers.get(id)];
    if (container !== undefined) addTo(groups, leader, container);
  }
  return [...groups.values()];
}

/** Hard dependencies among the moved containers, by the ids of both sides. */
function linksAmong(graph: DependencyGraph, moved: ReadonlySet<string>): ReadonlyMap<string, readonly string[]> {
  const linked = new Map<string, string[]>();
  for (const id of moved)
    for (const target of hardDependenciesOfId(graph, id).filter((each) => moved.has(each))) {
      addTo(linked, id, target);
      addTo(linked, target, id);
    }
  return linked;
}

/** If soft dependencies contradict hard ones, the hard ones count. */
function targetsFirst(graph: DependencyGraph, ids: ReadonlySet<string>): readonly string[] {
  const byName = [...graph.containers.keys()].filter((id) => ids.has(id));
  return strongComponents(byName, (id) => dependenciesOfId(graph, id)).flatMap((circle) =>
    strongComponents(circle, (id) => hardDependenciesOfId(graph, id)).flat(),
  );
}

/** The desired end state of each member, by id. */
type Endings = ReadonlyMap<string, DesiredEndState>;

function transactionOf(
  group: readonly Container[],
  endings: Endings,
  input: KnownInput,
): Omit<PlannedTransaction, 'after'> {
  const { graph } = input;
  const lenders = new Set(
    group.flatMap(({ id }) =>
      (graph.hard.get(id) ?? []).flatMap(({ kind, targetId }) => (kind === 'volumes' ? targetId : [])),
    ),
  );
  const members = group.map((container): PlannedMember => {
    const update = input.stale.get(container.id);
    const cause = update === undefined ? 'linked' : 'stale';
    const desiredEndState = endings.get(container.id) ?? 'stopped';
    const lendsVolumes = lenders.has(container.id);
    const data = dataOf(container, { cause, desiredEndState, lendsVolumes }, input);
    const unit = input.units?.get(container.id);
    return {
      container,
      cause,
      ...imageFor(update, container),
      hardDependencies: hardDependenciesOfId(graph, container.id).filter((id) => endings.has(id)),
      ...(lendsVolumes && { lendsVolumes }),
      ...(data !== undefined && { data }),
      ...(unit?.kind === 'unit' && { unit: unit.unit }),
      desiredEndState,
      waitsFor: conditionalOn(graph, container.id)
        .map(({ targetId }) => targetId)
        .filter((id) => endings.has(id)),
    };
  });
  return { id: group[0]?.id ?? '', members, requires: requirementsOf(members, graph) };
}

function imageFor(update: StaleContainer | undefined, { settings }: Container): NewImage {
  if (update === undefined) return { reference: settings.Config.Image, digest: undefined };
  const { id, name, waitsBecause, ...image } = update;
  return image;
}

/** A container that only moves with another one has no new version, and one that is not started changes nothing. */
function dataOf(
  container: Container,
  { lendsVolumes, ...member }: Pick<PlannedMember, 'cause' | 'desiredEndState'> & { readonly lendsVolumes: boolean },
  { ownId, doors, settings }: KnownInput,
): SavedData | undefined {
  if (member.cause === 'linked' || member.desiredEndState === 'stopped') return undefined;
  if (container.id === ownId || doors.has(container.id)) return undefined;
  const freshVolumes = getsFreshVolumes({ ...member, ...(lendsVolumes && { lendsVolumes }) }, settings);
  return savedDataOf(container, settings, { freshVolumes });
}

/** A member that is not started has no requirements. */
function requirementsOf(members: readonly PlannedMember[], graph: DependencyGraph): PlannedTransaction['requires'] {
  const own = new Set(members.map(({ container }) => container.id));
  return members
    .filter(({ desiredEndState }) => desiredEndState !== 'stopped')
    .flatMap(({ container }) => conditionalOn(graph, container.id))
    .filter(({ targetId }) => !own.has(targetId))
    .flatMap(({ targetId, condition }) => {
      const name = graph.containers.get(targetId)?.name;
      return name === undefined ? [] : [{ name, condition }];
    });
}

/** Transactions that depend on each other in a circle have no order among themselves. The others keep theirs. */
function inOrder(
  transactions: readonly Omit<PlannedTransaction, 'after'>[],
  graph: DependencyGraph,
): readonly PlannedTransaction[] {
  const byId = new Map(transactions.map((transaction) => [transaction.id, transaction]));
  const home = new Map(transactions.flatMap(({ id, members }) => members.map(({ container }) => [container.id, id])));
  const dependencies = new Map([...graph.containers.keys()].map((id) => [id, dependenciesOfId(graph, id)]));
  const needs = new Map(
    transactions.map(({ id, members }) => [
      id,
      neededTransactions(
        members.map(({ container }) => container.id),
        home,
        dependencies,
      ),
    ]),
  );
  return strongComponents([...byId.keys()], (id) => needs.get(id) ?? []).flatMap((circle) => {
    const around = new Set(circle);
    return circle.flatMap((id) => {
      const transaction = byId.get(id);
      const after = (needs.get(id) ?? []).filter((need) => !around.has(need));
      return transaction === undefined ? [] : [{ ...transaction, after }];
    });
  });
}

/**
 * Follows dependencies through unchanged containers too: a container that needs a cache that needs a database comes
 * after the database.
 */
function neededTransactions(
  members: readonly string[],
  home: ReadonlyMap<string, string>,
  dependencies: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const own = home.get(members[0] ?? '');
  const needed = new Set<string>();
  const seen = new Set(members);
  for (const id of seen) {
    const transaction = home.get(id);
    if (transaction !== undefined && transaction !== own) needed.add(transaction);
    else for (const need of dependencies.get(id) ?? []) seen.add(need);
  }
  return [...needed];
}

/** The update of one service, as data. */
export type PlannedService = {
  readonly id: string;
  readonly name: string;
  /** In short form. */
  readonly image: string;
  /** The present and the next image of the spec, verbatim. */
  readonly from: string;
  readonly to: string;
  /** Names of services that are updated before it. */
  readonly after: readonly string[];
  /** Present for the service that we run in, which is updated last. */
  readonly isOwn?: true;
};
