import { describe, expect, test } from 'vitest';
import { countCalls, faultsIn, runKilled, setStage, type Shape, shapes, startAgain } from './memory/stage.ts';

/** The same campaign as on a real engine, but in memory and at every call: it takes seconds instead of minutes. */

describe.each(shapes)('an update of a container: $name', (shape) => {
  test(shape.good ? 'replaces it' : 'is rolled back', async () => {
    const { outcomes, stage } = await countCalls(shape);
    // If nothing was stopped, a rollback is not needed.
    const ofBad = shape.stopped ? 'failed' : 'rolled_back';
    expect(outcomes).toEqual(outcomes.map(() => (shape.good ? 'updated' : ofBad)));
    expect(faultsIn(stage, shape)).toEqual([]);
  });

  test.each(['before', 'during', 'after'] as const)(
    'killed %s any call, and started once: nothing is lost',
    async (when) => {
      const { calls } = await countCalls(shape);
      const lost: string[] = [];
      for (const [index, call] of calls.entries()) {
        const stage = await setStage(shape);
        await runKilled(stage, [{ at: index + 1, fault: { kind: 'crash', when } }]);
        await startAgain(stage);
        const faults = faultsIn(stage, shape);
        const again = await startAgain(stage);
        if (again.changes > 0) faults.push(`a second start made ${again.changes} more changes`);
        if (faults.length > 0) lost.push(`${when} ${call}: ${faults.join('; ')}`);
      }
      expect(lost).toEqual([]);
    },
  );

  test('killed at any call, and each recovery killed at any of its calls: nothing is lost', async () => {
    const { calls } = await countCalls(shape);
    const lost: string[] = [];
    for (const index of calls.keys()) {
      for (let second = 1; second < 12; second += 1) {
        const stage = await setStage(shape);
        await runKilled(stage, [{ at: index + 1, fault: { kind: 'crash', when: 'after' } }]);
        const { changes } = await startAgain(stage, [{ at: second, fault: { kind: 'crash', when: 'during' } }]);
        if (changes < second) break;
        await startAgain(stage);
        const faults = faultsIn(stage, shape);
        if (faults.length > 0) lost.push(`after ${calls[index]}, recovery at ${second}: ${faults.join('; ')}`);
      }
    }
    expect(lost).toEqual([]);
  });

  test.each([
    ['the answer is lost', { kind: 'lose-answer' }],
    ['the request is lost', { kind: 'lose-request' }],
    ['the request arrives twice', { kind: 'send-twice' }],
    ['the engine refuses with 500', { kind: 'refuse', status: 500 }],
  ] as const)('%s at any one call: the update ends by itself, and nothing is lost', async (_what, fault) => {
    const { calls } = await countCalls(shape);
    const lost: string[] = [];
    for (const [index, call] of calls.entries()) {
      const stage = await setStage(shape);
      await runKilled(stage, [{ at: index + 1, fault }]);
      const faults = faultsIn(stage, shape);
      if (faults.length > 0) lost.push(`${call}: ${faults.join('; ')}`);
    }
    expect(lost).toEqual([]);
  });

  test('the disk is full from any call on: once there is room again, a start sets it right', async () => {
    const { calls } = await countCalls(shape);
    const lost: string[] = [];
    for (const [index, call] of calls.entries()) {
      const stage = await setStage(shape);
      const { fillDisk, freeDisk } = stage.scene.sandbox.control;
      await runKilled(stage, [{ at: index + 1, fault: { kind: 'third-party', when: 'before', act: fillDisk } }]);
      freeDisk();
      await startAgain(stage);
      // A container that may start by itself is not kept.
      const faults = faultsIn(stage, shape).filter((fault) => fault !== '0 containers are kept');
      const again = await startAgain(stage);
      if (again.changes > 0) faults.push(`a second start made ${again.changes} more changes`);
      if (faults.length > 0) lost.push(`${call}: ${faults.join('; ')}`);
    }
    expect(lost).toEqual([]);
  });

  test.each(['power-cut', 'crash', 'graceful'] as const)(
    '%s of the engine at any call: after the next start nothing is lost',
    async (how) => {
      const { calls } = await countCalls(shape);
      const lost: string[] = [];
      for (const [index, call] of calls.entries()) {
        for (const when of ['before', 'during', 'after'] as const) {
          const stage = await setStage(shape);
          await runKilled(stage, [{ at: index + 1, fault: { kind: 'engine-restart', how, when } }]);
          await startAgain(stage);
          const faults = faultsIn(stage, shape).filter(
            (fault) => !engineLeftItDown(how, index, calls, fault) && !engineRemovedIt(shape, index, calls, fault),
          );
          if (faults.length > 0) lost.push(`${when} ${call}: ${faults.join('; ')}`);
        }
      }
      expect(lost).toEqual([]);
    },
  );
});

/** A crash of the engine before the first journal leaves the same containers down, with or without Upkeep. */
function engineLeftItDown(how: string, index: number, calls: readonly string[], fault: string): boolean {
  const journal = calls.findIndex((call) => call.startsWith('createContainer'));
  const finished = calls.findLastIndex((call) => /^(?:removeContainer|startContainer) |\.upkeep-kept-\S+$/.test(call));
  return fault.includes(' is exited') && (index <= journal || index >= finished) && how !== '';
}

/** A starting engine removes containers with `--rm`, with or without Upkeep, except while a stand-in exists. */
function engineRemovedIt(shape: Shape, index: number, calls: readonly string[], fault: string): boolean {
  const autoRemoveReplica = calls.findIndex((call) => call.startsWith('createContainer web.upkeep-standin'));
  const commit = calls.findIndex((call) => call.startsWith('renameContainer web.upkeep-standin web.upkeep-drop'));
  const isCovered = index > autoRemoveReplica && (commit === -1 || index < commit);
  return shape.selfRemoving === true && fault === 'the containers are ' && !isCovered;
}
