import { type DesiredEndState, desiredEndStateOf } from '../settings/desired-end-state.ts';
import type { ComposeCondition } from '../container/compose-identity.ts';
import type { Container } from '../container/container.ts';
import {
  awaitedJobs,
  conditionalOn,
  type DependencyGraph,
  hardDependenciesOfId,
  replacedTogetherWith,
  dependenciesOfId,
} from './dependency-graph.ts';
import type { Digest } from '../reference/digest.ts';
import type { PlannedService } from '../swarm/update/service-update.ts';
import { type PlannedRestart, planRestarts, type RestartsInput } from './planned-restarts.ts';
import { quoted } from '../text/printable.ts';
import { type ReplacementContext, whyNotReplaceable } from './replaceable.ts';
import { strongComponents } from './strong-components.ts';

/** The steps of an update as data: printable, and testable without an engine. */
export type UpdatePlan = {
  /** In an order that respects `after`. */
  readonly transactions: readonly PlannedTransaction[];
  /** Absent: none. */
  readonly canaries?: readonly CanaryGroup[];
  /** The update of the container that we run in. It begins after all others, and a helper finishes it. */
  readonly self?: PlannedTransaction;
  /** Stale containers that must not be changed. */
  readonly refused: readonly RefusedContainer[];
  /** Updates of a swarm's services, beside the transactions, executed by the swarm. Absent: none. */
  readonly services?: readonly PlannedService[];
  /** Restarts after the transactions, in order. */
  readonly restarts: readonly PlannedRestart[];
};

/** A stale container that is not updated. `isDeferred`: only for now, and no setting forbids its update. */
export type RefusedContainer = {
  readonly name: string;
  readonly id: string;
  readonly reason: string;
  readonly isDeferred?: true;
};

/** Several transactions with one new image. The first one that can prove the image is the canary. */
export type CanaryGroup = {
  /** See `newImageOf`. */
  readonly image: string;
  /** Ids in the order of the plan. Each transaction waits until an earlier one has passed or failed. */
  readonly transactions: readonly string[];
};

/** One group of containers that moves together or not at all. */
export type PlannedTransaction = {
  /** The id of the leader's container (the first member): unique in the plan. */
  readonly id: string;
  /** Dependencies come first. The members of a cycle are sorted by name. */
  readonly members: readonly PlannedMember[];
  /** Ids of transactions that must succeed first, because a container here depends on one there. */
  readonly after: readonly string[];
  /** Compose conditions of its members on other containers. */
  readonly requires: readonly Requirement[];
};

/** By name, because the container may have been replaced by then. */
export type Requirement = { readonly name: string; readonly condition: ComposeCondition };

export type PlannedMember = NewImage & {
  readonly container: Container;
  /**
   * `stale`: it has a newer image. `linked`: same image, re-created because of a hard dependency on a replaced member.
   */
  readonly cause: 'stale' | 'linked';
  /** Ids of the members that it has a hard dependency on: shared namespaces, legacy links, `volumes_from`. */
  readonly hardDependencies: readonly string[];
  readonly desiredEndState: DesiredEndState;
  /** Ids of the members that must be proven before this one starts, as with compose's `service_healthy`. */
  readonly waitsFor: readonly string[];
};

/** The image that a container gets. */
export type NewImage = {
  /**
   * `Config.Image` of the new container, such as `nginx:1.27`: the old container's, verbatim (from an inspection if the
   * list showed a bare id), unless the update changes the tag.
   */
  readonly reference: string;
  /** `Config.Image` of the old container, verbatim. Present only if the update changes the tag. */
  readonly formerReference?: string;
  /** Digest to pull. Undefined when the engine has the image (`linked`, or `no-pull`). */
  readonly digest: Digest | undefined;
  /** An image by its id, preferred if the engine has it. */
  readonly imageId?: string;
};

export type StaleContainer = NewImage & {
  readonly id: string;
  readonly name: string;
  /** Why it waits though it is stale; absent: it does not wait. */
  readonly waitsBecause?: string;
};

export type PlanInput = Omit<RestartsInput & ReplacementContext, 'jobs' | 'moved'> & {
  readonly stale: readonly StaleContainer[];
};

/**
 * Groups each stale container with its hard dependents into one transaction, and orders the transactions. A dependency
 * that is not stale is not changed: dependents move with their target, never the reverse.
 */
export function planUpdate(given: PlanInput): UpdatePlan {
  const { graph } = given;
  const input = { ...given, jobs: awaitedJobs(graph) };
  const stale = new Map(input.stale.map((container) => [container.id, container]));
  const known = [...stale.keys()].filter((id) => graph.containers.has(id));
  const moved = replacedTogetherWith(graph, known);
  const transactions: Omit<PlannedTransaction, 'after'>[] = [];
  const refusals = new Map<string, string>();
  for (const group of groupsOf(graph, moved)) {
    const endings = endingsOf(group, stale, input);
    const reason = whyRefused(group, endings, input);
    for (const { id } of group) if (reason !== undefined) refusals.set(id, reason);
    if (reason === undefined) transactions.push(transactionOf(group, endings, stale, graph));
  }
  const members = transactions.flatMap((transaction) => transaction.members);
  const startedAnew = members
    .filter(({ desiredEndState }) => desiredEndState !== 'stopped')
    .map(({ container }) => container.id);
  return {
    ...ownLast(inOrder(transactions, graph), input.ownId),
    restarts: planRestarts(startedAnew, input),
    refused: input.stale
      .filter(({ id }) => refusals.has(id) || !graph.containers.has(id))
      .map(({ id, name }) => ({ id, name, reason: refusals.get(id) ?? 'It could not be inspected, or is gone' })),
  };
}

/** Upkeep's own transaction runs last; its dependents wait for its dependencies instead. */
function ownLast(
  transactions: readonly PlannedTransaction[],
  ownId: string | undefined,
): Pick<UpdatePlan, 'transactions' | 'self'> {
  const self = transactions.find(({ members }) => members.some(({ container }) => container.id === ownId));
  if (self === undefined) return { transactions };
  const others = transactions.filter((transaction) => transaction !== self);
  const around = (after: readonly string[]) => after.flatMap((id) => (id === self.id ? self.after : [id]));
  return {
    transactions: others.map((other) => ({ ...other, after: [...new Set(around(other.after))] })),
    self: { ...self, after: [] },
  };
}

/** The moved containers in groups connected by hard dependencies, targets first. */
function groupsOf(graph: DependencyGraph, moved: ReadonlySet<string>): readonly (readonly Container[])[] {
  const groupOf = new Map<string, Set<string>>();
  for (const id of moved) {
    const linked = [id, ...hardDependenciesOfId(graph, id).filter((target) => moved.has(target))];
    const joined = new Set(linked.flatMap((each) => [each, ...(groupOf.get(each) ?? [])]));
    for (const member of joined) groupOf.set(member, joined);
  }
  const sorted = targetsFirst(graph, moved);
  return [...new Set(sorted.map((id) => groupOf.get(id)))].map((group) =>
    sorted.filter((id) => group?.has(id)).flatMap((id) => graph.containers.get(id) ?? []),
  );
}

/** If soft dependencies contradict hard ones, the hard ones count. */
function targetsFirst(graph: DependencyGraph, ids: ReadonlySet<string>): readonly string[] {
  const byName = [...graph.containers.keys()].filter((id) => ids.has(id));
  return strongComponents(byName, (id) => dependenciesOfId(graph, id)).flatMap((circle) =>
    strongComponents(circle, (id) => hardDependenciesOfId(graph, id)).flat(),
  );
}

/** `jobs`: ids of jobs that other containers wait for. */
type KnownInput = PlanInput & { readonly jobs: ReadonlySet<string> };

/** The desired end state of each member, by id. */
type Endings = ReadonlyMap<string, DesiredEndState>;

function endingsOf(
  group: readonly Container[],
  stale: ReadonlyMap<string, StaleContainer>,
  { jobs, settings }: KnownInput,
): Endings {
  const part = ({ id }: Container) => ({ isLinked: !stale.has(id), isJob: jobs.has(id) });
  return new Map(group.map((container) => [container.id, desiredEndStateOf(container, part(container), settings)]));
}

function whyRefused(group: readonly Container[], moved: Endings, input: KnownInput): string | undefined {
  for (const container of group) {
    const why = input.optedOut.get(container.id) ?? whyNotReplaceable(container, { ...input, moved });
    if (why === undefined) continue;
    return group.length === 1
      ? `It ${why}`
      : `${group.length} containers have to move together, and ${quoted(container.name)} ${why}`;
  }
  return undefined;
}

function transactionOf(
  group: readonly Container[],
  endings: Endings,
  stale: ReadonlyMap<string, StaleContainer>,
  graph: DependencyGraph,
): Omit<PlannedTransaction, 'after'> {
  const members = group.map((container): PlannedMember => {
    const update = stale.get(container.id);
    return {
      container,
      cause: update === undefined ? 'linked' : 'stale',
      reference: update?.reference ?? container.settings.Config.Image,
      digest: update?.digest,
      ...(update?.formerReference !== undefined && { formerReference: update.formerReference }),
      ...(update?.imageId === undefined ? {} : { imageId: update.imageId }),
      hardDependencies: hardDependenciesOfId(graph, container.id).filter((id) => endings.has(id)),
      desiredEndState: endings.get(container.id) ?? 'stopped',
      waitsFor: conditionalOn(graph, container.id)
        .map(({ targetId }) => targetId)
        .filter((id) => endings.has(id)),
    };
  });
  return { id: group[0]?.id ?? '', members, requires: requirementsOf(members, graph) };
}

/** A member that is not started has no requirements. */
function requirementsOf(members: readonly PlannedMember[], graph: DependencyGraph): readonly Requirement[] {
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
  const needs = new Map(
    transactions.map(({ id, members }) => [
      id,
      neededTransactions(
        members.map(({ container }) => container.id),
        home,
        graph,
      ),
    ]),
  );
  return strongComponents([...byId.keys()], (id) => needs.get(id) ?? []).flatMap((circle) =>
    circle.flatMap((id) => {
      const transaction = byId.get(id);
      const after = (needs.get(id) ?? []).filter((need) => !circle.includes(need));
      return transaction === undefined ? [] : [{ ...transaction, after }];
    }),
  );
}

/**
 * Follows dependencies through unchanged containers too: a container that needs a cache that needs a database comes
 * after the database.
 */
function neededTransactions(
  members: readonly string[],
  home: ReadonlyMap<string, string>,
  graph: DependencyGraph,
): readonly string[] {
  const own = home.get(members[0] ?? '');
  const needed = new Set<string>();
  const seen = new Set(members);
  for (const id of seen) {
    const transaction = home.get(id);
    if (transaction !== undefined && transaction !== own) needed.add(transaction);
    else for (const need of dependenciesOfId(graph, id)) seen.add(need);
  }
  return [...needed];
}
