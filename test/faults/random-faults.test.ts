import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Fault, PlannedFault } from '../../sandbox/engine/calls.ts';
import { faultsIn, runKilled, setStage, type Shape, shapes, startAgain } from './memory/stage.ts';

/** Several faults in one update, and in the start after it. */

const moment = fc.constantFrom('before', 'during', 'after');

/**
 * A restarting engine leaves containers without a policy down and removes those with `--rm`, with or without Upkeep.
 */
function anyFault({ body, selfRemoving }: Shape): fc.Arbitrary<Fault> {
  const comesUpAgain = !selfRemoving && 'HostConfig' in body;
  return fc.oneof(
    fc.record({ kind: fc.constant('refuse'), status: fc.constantFrom(404, 409, 500) }),
    fc.record({ kind: fc.constantFrom('lose-request', 'lose-answer', 'send-twice') }),
    fc.record({ kind: fc.constant('slow'), ms: fc.constant(20_000) }),
    fc.record({ kind: fc.constant('crash'), when: moment }),
    ...(comesUpAgain
      ? [fc.record({ kind: fc.constant('engine-restart'), how: fc.constant('power-cut'), when: moment })]
      : []),
  );
}

function anyPlan(shape: Shape, most: number): fc.Arbitrary<PlannedFault[]> {
  return fc.array(fc.record({ at: fc.integer({ min: 1, max: 24 }), fault: anyFault(shape) }), { maxLength: most });
}

describe.each(shapes)('an update of a container: $name', (shape) => {
  test('whatever goes wrong at any of its calls, and of the next start: nothing is lost, and nothing left to do', async () => {
    await fc.assert(
      fc.asyncProperty(anyPlan(shape, 5), anyPlan(shape, 3), async (ofUpdate, ofNextStart) => {
        const stage = await setStage(shape);
        await runKilled(stage, ofUpdate);
        await startAgain(stage, ofNextStart);
        await startAgain(stage);
        expect(faultsIn(stage, shape)).toEqual([]);
        expect((await startAgain(stage)).changes).toBe(0);
      }),
      { numRuns: 40 },
    );
  });
});

const inNetworks = shapes.filter(({ networks }) => networks !== undefined);

/** A call may fail or be lost, and the next one succeeds. The process lives on. */
const failure = fc.oneof(
  fc.record({ kind: fc.constant('refuse' as const), status: fc.constantFrom(404, 409, 500) }),
  fc.record({ kind: fc.constantFrom('lose-request' as const, 'lose-answer' as const, 'send-twice' as const) }),
);

describe.each(inNetworks)('a prune in the middle of an update of a container: $name', (shape) => {
  test.each(['networks', 'everything'])('of %s, with failing calls: it runs, and is in its networks', async (what) => {
    const at = fc.integer({ min: 1, max: 24 });
    const failures = fc.array(fc.record({ at, fault: failure }), { maxLength: 3 });
    const prune = fc.record({ at, when: fc.constantFrom('before' as const, 'after' as const) });
    await fc.assert(
      fc.asyncProperty(prune, failures, async ({ at: pruneAt, when }, others) => {
        const stage = await setStage(shape);
        const { control } = stage.scene.sandbox;
        const act = () => {
          if (what === 'everything') control.pruneContainers();
          control.pruneNetworks();
        };
        const ofPrune = { at: pruneAt, fault: { kind: 'third-party', when, act } } as const;
        await runKilled(stage, [ofPrune, ...others.filter((other) => other.at !== pruneAt)]);
        await startAgain(stage);
        expect(faultsIn(stage, shape)).toEqual([]);
        expect((await startAgain(stage)).changes).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});
