import { describe, expect, test } from 'vitest';
import { recoverTransactions } from '../../src/application/recovery/recover.ts';
import { countCalls, runKilled, settings, setStage, type Shape, shapes, type Stage } from './memory/stage.ts';
import { handsOn } from './memory/hands.ts';
import { progressOf, type Resident, stories, type Story, wrongInAnyCase } from './rig/people/people.ts';

/** A person or program acts between the death of an updater and its next start. Their change must stay. */

const lone = shapes.filter(
  ({ dependent, selfRemoving, desiredEndState }) => !dependent && !selfRemoving && desiredEndState !== 'completed',
);

describe.each(lone)('people and tools meet an update of a container: $name', (shape) => {
  const told = stories.filter(({ removes = false }) => shape.good || !removes);

  test.each(told)('it is $name after a kill at any call', async (story) => {
    const { calls } = await countCalls(shape);
    const wrong: string[] = [];
    for (const [index, call] of calls.entries()) {
      const stage = await setStage(shape);
      await runKilled(stage, [{ at: index + 1, fault: { kind: 'crash', when: 'after' } }]);
      const faults = await meet(stage, story, shape);
      if (faults.length > 0) wrong.push(`after ${call}: ${faults.join('; ')}`);
    }
    expect(wrong).toEqual([]);
  });

  test.each(told)('it is $name after its update was finished', async (story) => {
    const stage = await setStage(shape);
    await runKilled(stage, []);
    expect(await meet(stage, story, shape)).toEqual([]);
  });

  test.each([
    ['an hour', 3_600_000],
    // Its HEALTHCHECK would run once a second.
    ['a day and an hour', shape.next.sick ? 7_200_000 : 90_000_000],
  ] as const)('it is stopped for good after its update was finished, and %s passes', async (_, waitMs) => {
    const stage = await setStage(shape);
    await runKilled(stage, []);
    expect(await meet(stage, stopForGood, shape, () => pass(stage, waitMs))).toEqual([]);
  });

  test.each(['power-cut', 'crash', 'graceful'] as const)(
    'it is stopped for good after its update was finished, and then there is a %s of the engine',
    async (how) => {
      const stage = await setStage(shape);
      await runKilled(stage, []);
      expect(await meet(stage, stopForGood, shape, () => stage.scene.sandbox.control.restartEngine(how))).toEqual([]);
    },
  );
});

const stopForGood = stories.find(({ name }) => name.startsWith('never to be restarted'))!;

async function meet(stage: Stage, story: Story, shape: Shape, meanwhile = async () => {}): Promise<string[]> {
  const hands = handsOn(stage);
  const oldId = stage.before.get('web')?.id ?? '';
  const before = await hands.look();
  const web = before.find(({ name }) => name === 'web');
  if (web === undefined) return [];
  await story.act(hands, web, before);
  await pass(stage, 60_000);
  await meanwhile();
  const done = await hands.look();
  const report = await startOnce(stage);
  const now = await hands.look();
  const again = await startOnce(stage);
  stage.scene.sandbox.control.close();
  const progress = progressOf(before, 'web', oldId);
  const scene = { before, done, now, name: 'web', oldId, progress, engineDied: false };
  return [
    ...story.wrong(scene),
    ...wrongInAnyCase(scene, report.said).filter((fault) => !(shape.keeps === true && fault.includes('upkeep-kept'))),
    ...untruths(report, stage, before),
    ...(again.changes > 0 ? [`a second start made ${again.changes} more changes`] : []),
  ];
}

type Start = { readonly said: string; readonly changes: number; readonly results: readonly string[] };

async function startOnce({ scene }: Stage): Promise<Start> {
  const life = scene.startProcess();
  const { transactions } = await scene.clock.run(() => recoverTransactions(life.outside, settings));
  life.connection.crash();
  await scene.clock.run(() => scene.clock.sleep(60_000));
  const results = transactions.map(({ result }) => result);
  return { said: JSON.stringify(transactions), changes: life.connection.calls.length, results };
}

/** Errors in the report: a finished container has the new image, an undone one has not, unless a person changed it. */
function untruths({ results }: Start, { scene, newImageId }: Stage, before: readonly Resident[]): string[] {
  const now = scene.sandbox.control.snapshot().containers['web'];
  return results.flatMap((result) => {
    if (now === undefined || (result !== 'finished' && result !== 'undone')) return [];
    const isNew = now.imageId === newImageId;
    const isSo = result === 'finished' ? isNew : !isNew || before.every(({ id }) => id !== now.id);
    return isSo ? [] : [`it says ${result}, and that is not so`];
  });
}

async function pass({ scene }: Stage, ms: number): Promise<void> {
  await scene.clock.run(() => scene.clock.sleep(ms));
}
