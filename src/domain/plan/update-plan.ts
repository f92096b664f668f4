import { desiredEndStateOf } from '../settings/effective-settings.ts';
import type { Container } from '../container/container.ts';
import { awaitedJobs, replacedTogetherWith } from './graph/dependency-graph.ts';
import type { PlannedService } from '../swarm/update/service-update.ts';
import { type PlannedRestart, planRestarts, type RestartsInput } from './planned-restarts.ts';
import type { OwnWays } from '../self-update/own-ways.ts';
import { quoted } from '../text/printable.ts';
import { type ReplacementContext, whyNotReplaceable } from './replaceable.ts';
import type { PlannedTransaction, StaleContainer } from './planned-transaction.ts';
import { groupsOf, inOrder, type Endings, transactionOf } from './plan-transactions.ts';

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
  readonly refused: readonly RefusedContainer[];
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
    ...ownLast(inOrder(transactions, graph), input),
    restarts: planRestarts(startedAnew, { ...input, optedOut: new Map([...input.optedOut, ...input.doors]) }),
    refused: input.stale
      .filter(({ id }) => refusals.has(id) || !graph.containers.has(id))
      .map(({ id, name }) => ({ id, name, reason: refusals.get(id) ?? 'It could not be inspected, or is gone' })),
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
type KnownInput = PlanInput & { readonly jobs: ReadonlySet<string> };

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
