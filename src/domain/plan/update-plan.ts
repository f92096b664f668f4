import {
  type DesiredEndState,
  desiredEndStateOf,
  type DesiredEndStateSettings,
} from '../settings/desired-end-state.ts';
import type { ComposeCondition } from '../container/compose-identity.ts';
import type { Container } from '../container/container.ts';
import { awaitedJobs, conditionalOn, type DependencyGraph, heldBy, movedWith, neededBy } from './dependency-graph.ts';
import type { Digest } from '../reference/digest.ts';
import type { PlannedService } from '../swarm/planned-service.ts';
import { type PlannedRestart, planRestarts } from './planned-restarts.ts';
import { quoted } from '../text/printable.ts';
import { type ReplacementContext, whyNotReplaceable } from './replaceable.ts';
import { strongComponents } from './strong-components.ts';

/** The steps of an update as data: printable, and testable without an engine. */
export type UpdatePlan = {
  /** In an order that respects `after`. */
  readonly transactions: readonly PlannedTransaction[];
  /** Absent: none. */
  readonly canaries?: readonly CanaryGroup[];
  /** The update of the container that we run in: begun once all else has ended, and finished by a helper. */
  readonly self?: PlannedTransaction;
  /** Stale containers that must not be touched. */
  readonly refused: readonly RefusedContainer[];
  /** Updates of a swarm's services, beside the transactions: the swarm executes them. Absent: none. */
  readonly services?: readonly PlannedService[];
  /** Restarts after the transactions, in order. */
  readonly restarts: readonly PlannedRestart[];
};

/** A stale container that stays as it is; `isDeferred`: only for now, and nobody has forbidden its update. */
export type RefusedContainer = {
  readonly name: string;
  readonly id: string;
  readonly reason: string;
  readonly isDeferred?: true;
};

/** Several transactions to one new image. The first that can prove the image is the canary of the others. */
export type CanaryGroup = {
  /** See `newImageOf`. */
  readonly image: string;
  /** Ids in the order of the plan: each transaction waits until one before it has passed or failed. */
  readonly transactions: readonly string[];
};

/** One group of containers that moves together or not at all. */
export type PlannedTransaction = {
  /** The id of the leader's container (the first member): unique in the plan. */
  readonly id: string;
  /** Dependencies come first; the members of a cycle are sorted by name. */
  readonly members: readonly PlannedMember[];
  /** Ids of transactions that must have succeeded first, because a container here depends on one there. */
  readonly after: readonly string[];
  /** Compose conditions of its members on other containers. */
  readonly requires: readonly Requirement[];
};

/** By name, because the container may be another one by then. */
export type Requirement = { readonly name: string; readonly condition: ComposeCondition };

export type PlannedMember = {
  readonly container: Container;
  /** `stale`: a newer image; `linked`: same image, re-created because it holds on to a member that is replaced. */
  readonly cause: 'stale' | 'linked';
  /** `Config.Image` of the new one, e.g. `nginx:1.27`; the old one's, unless the update goes to another tag. */
  readonly reference: string;
  /** `Config.Image` of the old one, verbatim; only where the update goes to another tag. */
  readonly formerReference?: string;
  /** Digest to pull; undefined when the engine has the image (`linked`, or `no-pull`). */
  readonly digest: Digest | undefined;
  /** Taken before all else, where the engine holds it: an image by its id. */
  readonly imageId?: string;
  /** Ids of the members this one holds on to: shared namespaces, legacy links, `volumes_from`. */
  readonly holdsOnTo: readonly string[];
  readonly desiredEndState: DesiredEndState;
  /** Ids of the members that must be proven before this one is started, as compose's `service_healthy` asks. */
  readonly waitsFor: readonly string[];
};

export type StaleContainer = {
  readonly id: string;
  readonly name: string;
  /** Why it waits though it is stale; absent: it does not. */
  readonly waitsBecause?: string;
  /** Of the successor: the container's own, verbatim (from an inspection if the list showed a bare id), or another tag. */
  readonly reference: string;
  /** Its own, verbatim, where the successor gets another tag. */
  readonly formerReference?: string;
  /** Undefined: use the engine's image for the tag. */
  readonly digest: Digest | undefined;
  /** Taken before all else, where the engine holds it: an image by its id. */
  readonly imageId?: string;
};

export type PlanInput = {
  readonly stale: readonly StaleContainer[];
  /** Of all containers there are. */
  readonly graph: DependencyGraph;
  /** By id: why a container must not be touched (`is monitored only`). */
  readonly optedOut: ReadonlyMap<string, string>;
  /** Ids of all images that the engine holds. */
  readonly imageIds: ReadonlySet<string>;
  /** Of the container that we run in ourselves. */
  readonly ownId: string | undefined;
  readonly settings: DesiredEndStateSettings & ReplacementContext['settings'];
};

/**
 * Groups each stale container with its hard dependents into one transaction, and orders the transactions.
 * A dependency that is not stale itself stays as it is: dependents move with their target, never the other
 * way round.
 */
export function planUpdate(given: PlanInput): UpdatePlan {
  const { graph } = given;
  const input = { ...given, jobs: awaitedJobs(graph) };
  const stale = new Map(input.stale.map((container) => [container.id, container]));
  const known = [...stale.keys()].filter((id) => graph.containers.has(id));
  const moved = movedWith(graph, known);
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

/** Nobody waits for the updater: it cannot go on once its own turn has come. */
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

/** The moved containers, connected by holding on to each other; members targets first. */
function groupsOf(graph: DependencyGraph, moved: ReadonlySet<string>): readonly (readonly Container[])[] {
  const groupOf = new Map<string, Set<string>>();
  for (const id of moved) {
    const linked = [id, ...heldBy(graph, id).filter((target) => moved.has(target))];
    const joined = new Set(linked.flatMap((each) => [each, ...(groupOf.get(each) ?? [])]));
    for (const member of joined) groupOf.set(member, joined);
  }
  const sorted = targetsFirst(graph, moved);
  return [...new Set(sorted.map((id) => groupOf.get(id)))].map((group) =>
    sorted.filter((id) => group?.has(id)).flatMap((id) => graph.containers.get(id) ?? []),
  );
}

/** Where soft dependencies contradict the hard ones, the hard ones count. */
function targetsFirst(graph: DependencyGraph, ids: ReadonlySet<string>): readonly string[] {
  const byName = [...graph.containers.keys()].filter((id) => ids.has(id));
  return strongComponents(byName, (id) => neededBy(graph, id)).flatMap((circle) =>
    strongComponents(circle, (id) => heldBy(graph, id)).flat(),
  );
}

/** `jobs`: ids of jobs that other containers wait for. */
type KnownInput = PlanInput & { readonly jobs: ReadonlySet<string> };

/** By id: how each member is left. */
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
      holdsOnTo: heldBy(graph, container.id).filter((id) => endings.has(id)),
      desiredEndState: endings.get(container.id) ?? 'stopped',
      waitsFor: conditionalOn(graph, container.id)
        .map(({ targetId }) => targetId)
        .filter((id) => endings.has(id)),
    };
  });
  return { id: group[0]?.id ?? '', members, requires: requirementsOf(members, graph) };
}

/** Nothing is asked for a member that is not started. */
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

/** Transactions that need each other in a circle have no order among themselves; the others keep theirs. */
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
 * Follows dependencies also through unchanged containers: a container that needs a cache that needs a
 * database comes after the database.
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
    else for (const need of neededBy(graph, id)) seen.add(need);
  }
  return [...needed];
}
