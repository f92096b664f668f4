/**
 * Orders nodes, dependencies first. Each group of the result is one node or the members of one cycle, in no particular
 * order. Nodes without dependencies keep the order of the input; dependencies outside the nodes are ignored. Tarjan's
 * algorithm (https://doi.org/10.1137/0201010) without recursion, because a chain of thousands must not overflow the
 * stack.
 */
export function strongComponents(
  nodes: readonly string[],
  needsOf: (node: string) => readonly string[],
): readonly (readonly string[])[] {
  const position = new Map(nodes.map((node, index) => [node, index]));
  const byPosition = (a: string, b: string) => (position.get(a) ?? 0) - (position.get(b) ?? 0);
  const visits = new Map<string, Visit>();
  const open: Visit[] = [];
  const components: (readonly string[])[] = [];

  const enter = (node: string): Visit => {
    const needs = needsOf(node).filter((need) => position.has(need));
    const index = visits.size;
    const visit: Visit = { node, needs: needs.sort(byPosition), index, lowest: index, isOpen: true, seen: 0 };
    visits.set(node, visit);
    open.push(visit);
    return visit;
  };

  const leave = (visit: Visit, parent: Visit | undefined): void => {
    if (parent !== undefined) parent.lowest = Math.min(parent.lowest, visit.lowest);
    if (visit.lowest !== visit.index) return;
    const members = open.splice(open.lastIndexOf(visit));
    for (const member of members) member.isOpen = false;
    components.push(members.map(({ node }) => node).sort(byPosition));
  };

  for (const root of nodes) {
    if (visits.has(root)) continue;
    const path = [enter(root)];
    for (let visit = path.at(-1); visit !== undefined; visit = path.at(-1)) {
      const need = visit.needs[visit.seen];
      visit.seen += 1;
      if (need === undefined) {
        path.pop();
        leave(visit, path.at(-1));
        continue;
      }
      const known = visits.get(need);
      if (known === undefined) path.push(enter(need));
      else if (known.isOpen) visit.lowest = Math.min(visit.lowest, known.index);
    }
  }
  return components;
}

type Visit = {
  readonly node: string;
  readonly needs: readonly string[];
  readonly index: number;
  /** The index of the earliest open visit that is reachable from here. */
  lowest: number;
  /** Whether its component is still incomplete. */
  isOpen: boolean;
  /** The number of dependencies visited. */
  seen: number;
};
