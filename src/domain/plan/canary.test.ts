import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { digestOf, idOf, inspectedContainer } from '../../../test/support/scene/builders.ts';
import { judgeCanary, newImageOf, withCanaries } from './order.ts';
import type { UpdatePlan, PlannedMember, PlannedTransaction } from './update-plan.ts';

type Sketch = {
  readonly name: string;
  /** New images of its members, in order. */
  readonly images: readonly string[];
  readonly after?: readonly string[];
  readonly isLabelled?: boolean;
  readonly isStopped?: boolean;
};

const id = (name: string) => idOf(`container ${name}`);

function transaction({ name, images, after = [], isLabelled = false, isStopped = false }: Sketch): PlannedTransaction {
  const members = images.map((image, index): PlannedMember => {
    const labels = isLabelled ? { 'upkeep.canary': 'true' } : {};
    return {
      container: inspectedContainer(index === 0 ? name : `${name}-${index}`, { labels }),
      cause: 'stale',
      reference: `${image}:1`,
      digest: digestOf(image),
      hardDependencies: [],
      desiredEndState: isStopped ? 'stopped' : 'running',
      waitsFor: [],
    };
  });
  return { id: id(name), members, after: after.map(id), requires: [] };
}

const planOf = (sketches: readonly Sketch[]): UpdatePlan => ({
  transactions: sketches.map(transaction),
  refused: [],
  restarts: [],
});

function canariesOf(sketches: readonly Sketch[], canary = true): readonly (readonly string[])[] {
  const names = new Map(sketches.map(({ name }) => [id(name), name]));
  const { canaries = [] } = withCanaries(planOf(sketches), { canary });
  return canaries.map(({ transactions }) => transactions.map((each) => names.get(each) ?? ''));
}

const web = (name: string, more: Partial<Sketch> = {}): Sketch => ({ name, images: ['web'], ...more });

describe('withCanaries()', () => {
  test('three of one new image have a canary, the first in the order of the plan; two have none', () => {
    expect(canariesOf([web('a'), web('b'), web('c')])).toEqual([['a', 'b', 'c']]);
    expect(canariesOf([web('a'), web('b'), { name: 'c', images: ['db'] }])).toEqual([]);
    expect(canariesOf([web('a'), web('b'), web('c')], false)).toEqual([]);
  });

  test('the labelled one goes first, also of two, and alone has nobody to go before', () => {
    expect(canariesOf([web('a'), web('b', { isLabelled: true })])).toEqual([['b', 'a']]);
    expect(canariesOf([web('a', { isLabelled: true })])).toEqual([]);
    expect(canariesOf([web('a'), web('b', { isLabelled: true })], false)).toEqual([]);
  });

  test('a labelled one that depends on others of its group comes after them', () => {
    const sketches = [web('a'), web('b', { isLabelled: true, after: ['a'] }), web('c')];
    expect(canariesOf(sketches)).toEqual([['a', 'b', 'c']]);
  });

  test('what is left stopped proves nothing, and comes last', () => {
    expect(canariesOf([web('a', { isStopped: true }), web('b'), web('c')])).toEqual([['b', 'c', 'a']]);
    expect(canariesOf(['a', 'b', 'c'].map((name) => web(name, { isStopped: true })))).toEqual([]);
  });

  test('containers that move together are no canary of each other', () => {
    expect(canariesOf([{ name: 'a', images: ['web', 'web', 'web'] }])).toEqual([]);
    expect(canariesOf([{ name: 'a', images: ['web', 'web'] }, web('b')])).toEqual([['a', 'b']]);
  });

  test('of any plan the same transactions remain, after those they depend on, and nobody waits in a circle', () => {
    fc.assert(
      fc.property(plans, (sketches) => {
        const before = planOf(sketches);
        const plan = withCanaries(before, { canary: true });
        const { transactions, canaries = [] } = plan;
        const order = transactions.map((each) => each.id);
        expect(order.toSorted()).toEqual(before.transactions.map((each) => each.id).toSorted());
        const place = new Map(order.map((each, index) => [each, index]));
        const isBefore = (one: string, other: string) => place.get(one)! < place.get(other)!;
        for (const each of transactions) for (const need of each.after) expect(isBefore(need, each.id)).toBe(true);
        for (const group of canaries) {
          for (const [index, each] of group.transactions.slice(1).entries())
            expect(isBefore(group.transactions[index]!, each)).toBe(true);
          const going = transactions.filter(({ members }) => members.some((one) => newImageOf(one) === group.image));
          expect(group.transactions).toEqual(going.map((each) => each.id));
        }
      }),
    );
  });

  test('whoever has three of an image in several transactions has a canary, unless all are left stopped', () => {
    fc.assert(
      fc.property(plans, (sketches) => {
        const { canaries = [] } = withCanaries(planOf(sketches), { canary: true });
        for (const image of ['web', 'db', 'job']) {
          const going = sketches.filter(({ images }) => images.includes(image));
          const containers = going.flatMap(({ images }) => images.filter((each) => each === image)).length;
          const isProvable = going.some(({ isStopped }) => isStopped !== true);
          const isWanted = containers >= 3 || going.some(({ isLabelled }) => isLabelled === true);
          const expected = going.length > 1 && isProvable && isWanted;
          expect(canaries.some((group) => group.image === digestOf(image))).toBe(expected);
        }
      }),
    );
  });
});

describe('judgeCanary()', () => {
  test.each([
    ['updated', 'passed', {}],
    ['fresh', 'passed', {}],
    ['rolled_back', 'failed', {}],
    ['failed', 'untested', { phases: { pulling: 1 } }],
    ['failed', 'untested', {}],
    ['failed', 'failed', { phases: { pulling: 1, starting: 1 } }],
    ['skipped', 'untested', {}],
    ['deferred', 'untested', {}],
  ] as const)('%s is %s', (outcome, expected, more) => {
    expect(judgeCanary(transaction(web('a')), [{ outcome, ...more }])).toBe(expected);
  });

  test('what was updated and left stopped is untested', () => {
    expect(judgeCanary(transaction(web('a', { isStopped: true })), [{ outcome: 'updated' }])).toBe('untested');
  });
});

/** Up to eight transactions to some of three images, each after some of those before it. */
const plans: fc.Arbitrary<readonly Sketch[]> = fc
  .array(
    fc.record({
      images: fc.array(fc.constantFrom('web', 'db', 'job'), { minLength: 1, maxLength: 3 }),
      needs: fc.array(fc.nat(7), { maxLength: 3 }),
      isLabelled: fc.boolean(),
      isStopped: fc.boolean(),
    }),
    { maxLength: 8 },
  )
  .map((drawn) =>
    drawn.map(({ needs, ...sketch }, index) => ({
      ...sketch,
      name: `t${index}`,
      after: [...new Set(needs.filter((need) => need < index).map((need) => `t${need}`))],
    })),
  );
