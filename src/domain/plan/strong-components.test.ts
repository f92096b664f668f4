import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { strongComponents } from './dependency-graph.ts';

const needsFrom = (needs: Readonly<Record<string, readonly string[]>>) => (node: string) => needs[node] ?? [];

describe('strongComponents()', () => {
  test('puts what is needed first, else keeps the order of the input', () => {
    const needs = needsFrom({ app: ['db', 'cache'], db: ['disk'] });
    expect(strongComponents(['app', 'cache', 'db', 'disk', 'web'], needs)).toEqual([
      ['cache'],
      ['disk'],
      ['db'],
      ['app'],
      ['web'],
    ]);
  });

  test('isolates a cycle to its members', () => {
    const needs = needsFrom({ a: ['b'], b: ['a', 'base'], top: ['a'] });
    expect(strongComponents(['top', 'b', 'a', 'base'], needs)).toEqual([['base'], ['b', 'a'], ['top']]);
  });

  test('does not mind needs that are not among the nodes, and needs of oneself', () => {
    expect(strongComponents(['a'], needsFrom({ a: ['a', 'gone'] }))).toEqual([['a']]);
  });

  test('orders a chain of 20,000 without overflowing the stack', () => {
    const nodes = Array.from({ length: 20_000 }, (_, index) => `n${index}`);
    const order = strongComponents(nodes, (node) => [`n${Number(node.slice(1)) + 1}`]);
    expect(order[0]).toEqual(['n19999']);
    expect(order).toHaveLength(20_000);
  });

  test('every node is in one group; groups are exactly the nodes that reach each other; needs come first', () => {
    fc.assert(
      fc.property(graphs, ({ nodes, needs }) => {
        const groups = strongComponents(nodes, needsFrom(needs));
        expect(groups.flat().toSorted()).toEqual(nodes.toSorted());
        const groupOf = new Map(groups.flatMap((group, index) => group.map((node) => [node, index])));
        for (const node of nodes) {
          const reached = reach(node, needs);
          for (const other of nodes) {
            const mutual = node === other || (reached.has(other) && reach(other, needs).has(node));
            expect(groupOf.get(node) === groupOf.get(other)).toBe(mutual);
            if (reached.has(other)) expect(groupOf.get(other)!).toBeLessThanOrEqual(groupOf.get(node)!);
          }
        }
      }),
    );
  });
});

const graphs = fc.integer({ min: 1, max: 9 }).chain((size) => {
  const nodes = Array.from({ length: size }, (_, index) => `n${index}`);
  return fc.record({
    nodes: fc.shuffledSubarray(nodes, { minLength: size }),
    needs: fc.dictionary(fc.constantFrom(...nodes), fc.subarray(nodes)),
  });
});

function reach(from: string, needs: Readonly<Record<string, readonly string[]>>): ReadonlySet<string> {
  const seen = new Set(needs[from] ?? []);
  for (const node of seen) for (const need of needs[node] ?? []) seen.add(need);
  return seen;
}
