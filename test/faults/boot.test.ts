import { describe, expect, test } from 'vitest';
import type { RestartKind } from '../../sandbox/containers/processes.ts';
import { countCalls, runKilled, setStage, type Shape, shapes, type Stage } from './memory/stage.ts';

/** The host is killed with the service, and the engine starts alone, without Upkeep. */

const comesBack = (shape: Shape): boolean =>
  !shape.stopped && shape.desiredEndState === undefined && /always|unless-stopped/.test(JSON.stringify(shape.body));

describe.each(shapes.filter(comesBack))('a host that loses power in an update: $name', (shape) => {
  test.each(['before', 'during', 'after'] as const)(
    '%s any call: one of the two comes up, never both',
    async (when) => {
      const { calls } = await countCalls(shape);
      const wrong: string[] = [];
      for (const [index, call] of calls.entries()) {
        const runs = await whoRunsAfter('power-cut', shape, index, when);
        const isWindow = betweenPolicies(calls, index, when) || mayHaveOtherData(calls, index, when);
        for (const [name, count] of runs)
          if (count > 1 || (count === 0 && !isWindow)) wrong.push(`${when} ${call}: ${count} of "${name}" run`);
      }
      expect(wrong).toEqual([]);
    },
  );
});

async function whoRunsAfter(
  how: RestartKind,
  shape: Shape,
  index: number,
  when: 'before' | 'during' | 'after',
): Promise<ReadonlyMap<string, number>> {
  const stage = await setStage(shape);
  await runKilled(stage, [{ at: index + 1, fault: { kind: 'crash', when } }]);
  await stage.scene.sandbox.control.restartEngine(how);
  return countRunning(stage);
}

function countRunning({ scene, before }: Stage): ReadonlyMap<string, number> {
  const counts = new Map([...before.keys()].map((name) => [name, 0]));
  for (const [fullName, { running }] of Object.entries(scene.sandbox.control.snapshot().containers)) {
    const name = fullName.replace(/\.upkeep-.*/, '');
    if (running) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

/**
 * Of an update that copies data, from the moment at which the old container loses its policy: neither version may start
 * on the data of the other one, so only Upkeep starts one again.
 */
function mayHaveOtherData(calls: readonly string[], index: number, when: 'before' | 'during' | 'after'): boolean {
  const withdrawn = calls.findIndex((call) => /^updateRestartPolicy .*\.upkeep-old-\S+-d no$/.test(call));
  const lastPolicy = calls.findLastIndex((call) => call.startsWith('updateRestartPolicy'));
  if (withdrawn < 0) return false;
  return when === 'before' ? index > withdrawn && index <= lastPolicy : index >= withdrawn && index <= lastPolicy;
}

/**
 * After the decision, the old policy is removed before the new one is set: no policy is better than both.
 */
function betweenPolicies(calls: readonly string[], index: number, when: 'before' | 'during' | 'after'): boolean {
  const policies = calls.flatMap((call, at) => (call.startsWith('updateRestartPolicy') ? [at] : []));
  const decided = calls.findLastIndex((call) => /^renameContainer .*\.upkeep-drop-\S+$/.test(call));
  const commit = policies.filter((at) => at > decided);
  const [first = Infinity, last = -1] = [commit[0], commit.at(-1)];
  return when === 'before' ? index > first && index <= last : index >= first && index <= last;
}
