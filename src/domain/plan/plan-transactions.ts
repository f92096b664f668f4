import type { DesiredEndState } from '../settings/effective-settings.ts';
import type { Container } from '../container/container.ts';
import { addTo } from '../text/plain-data.ts';
import {
  conditionalOn,
  dependenciesOfId,
  type DependencyGraph,
  hardDependenciesOfId,
} from './graph/dependency-graph.ts';
import { strongComponents } from './graph/strong-components.ts';
import type { PlannedMember, PlannedTransaction, Requirement, StaleContainer } from './planned-transaction.ts';

/** The moved containers in groups connected by hard dependencies, targets first. */
export function groupsOf(graph: DependencyGraph, moved: ReadonlySet<string>): readonly (readonly Container[])[] {
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
export type Endings = ReadonlyMap<string, DesiredEndState>;

export function transactionOf(
  group: readonly Container[],
  endings: Endings,
  stale: ReadonlyMap<string, StaleContainer>,
  graph: DependencyGraph,
): Omit<PlannedTransaction, 'after'> {
  const lenders = new Set(
    group.flatMap(({ id }) =>
      (graph.hard.get(id) ?? []).flatMap(({ kind, targetId }) => (kind === 'volumes' ? targetId : [])),
    ),
  );
  const members = group.map((container): PlannedMember => {
    const update = stale.get(container.id);
    return {
      container,
      cause: update === undefined ? 'linked' : 'stale',
      reference: update?.reference ?? container.settings.Config.Image,
      digest: update?.digest,
      ...(update?.formerReference !== undefined && { formerReference: update.formerReference }),
      ...(update?.verified !== undefined && { verified: update.verified }),
      ...(update?.imageId === undefined ? {} : { imageId: update.imageId }),
      ...(update?.mustBeHeld && { mustBeHeld: true as const }),
      hardDependencies: hardDependenciesOfId(graph, container.id).filter((id) => endings.has(id)),
      ...(lenders.has(container.id) && { lendsVolumes: true }),
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
export function inOrder(
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
