import { beforeAll, describe, expect, test } from 'vitest';
import { countCalls, faultsIn, runKilled, setStage, type Shape, shapes, startAgain } from '../memory/stage.ts';
import { realLabels } from '../memory/street.ts';
import { journalLabels, type Labels, nobodysId } from '../rig/forgery/forgery.ts';

/** Images that were made by committing an updated container have its journal, which names no existing container. */

let real: Labels = {};
beforeAll(async () => void (real = await realLabels()));

const journals: readonly (readonly [string, () => Labels])[] = [
  ['of a container of the same name', () => ({})],
  ['of another container', () => journalLabels({ name: 'blog', members: `blog=${nobodysId}` })],
  ['of what stood in for one', () => journalLabels({ role: 'replica', policy: 'a' })],
  ['of one that was stopped, without its owner', () => journalLabels({ run: '0', owner: '', policy: 'a' })],
  ['that another version wrote', () => journalLabels({ v: '9' })],
];

describe.each(journals)('the image carries the journal %s', (_, changes) => {
  const committed = (shape: Shape, which: readonly ('old' | 'next')[]): Shape => {
    const labels = { ...real, ...journalLabels({ old: nobodysId, members: `web=${nobodysId}` }), ...changes() };
    return { ...shape, imageLabels: Object.fromEntries(which.map((each) => [each, labels])) };
  };

  test.each(shapes)('it is the old one, and an update is repaired as ever: $name', async (shape) => {
    const outcomes = await outcomesOf(committed(shape, ['old']));
    expect(outcomes).toEqual(outcomes.map(() => endOf(shape)));
    expect(await lostIn(committed(shape, ['old']))).toEqual([]);
  });

  test.each(shapes)('both do, and nothing is lost: $name', async (shape) => {
    expect(await lostIn(committed(shape, ['old', 'next']))).toEqual([]);
  });

  test.each(shapes)('both do, and the update is made all the same: $name', async (shape) => {
    const outcomes = await outcomesOf(committed(shape, ['old', 'next']));
    expect(outcomes).toEqual(outcomes.map(() => endOf(shape)));
  });

  test.each(shapes)('a container of it that nobody updates is left as it is: $name', async (shape) => {
    const stage = await setStage(committed(shape, ['old']));
    expect((await startAgain(stage)).changes).toBe(0);
    expect(faultsIn(stage, shape)).toEqual([]);
  });
});

/** If nothing was stopped, a rollback is not needed. */
function endOf({ good, stopped }: Shape): string {
  if (good) return 'updated';
  return stopped ? 'failed' : 'rolled_back';
}

async function outcomesOf(shape: Shape): Promise<readonly string[]> {
  const { outcomes, stage } = await countCalls(shape);
  expect(faultsIn(stage, shape)).toEqual([]);
  return outcomes;
}

async function lostIn(shape: Shape): Promise<string[]> {
  const { calls } = await countCalls(shape);
  const lost: string[] = [];
  for (const [index, call] of calls.entries()) {
    const stage = await setStage(shape);
    await runKilled(stage, [{ at: index + 1, fault: { kind: 'crash', when: 'after' } }]);
    await startAgain(stage);
    const faults = faultsIn(stage, shape);
    const again = await startAgain(stage);
    if (again.changes > 0) faults.push(`a second start made ${again.changes} more changes`);
    if (faults.length > 0) lost.push(`after ${call}: ${faults.join('; ')}`);
  }
  return lost;
}
