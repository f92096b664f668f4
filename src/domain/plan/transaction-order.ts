import { dependenciesOfId, type DependencyGraph } from './graph/dependency-graph.ts';
import { strongComponents } from './graph/strong-components.ts';
import type { PlannedTransaction } from './planned-transaction.ts';

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
