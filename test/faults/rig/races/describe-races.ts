import { expect, test } from 'vitest';
import { describeInLab } from '../../../lab/describe-in-lab.ts';
import { engineTeam, shareOut } from '../engine-team.ts';
import { planRace } from './race-plan.ts';
import { runRace } from './run-race.ts';
import type { Shape } from '../shapes.ts';

export type RaceScope = {
  readonly shapes: readonly Shape[];
  /** Number of races of each shape. */
  readonly rounds: number;
  /** Seed of the first round of each shape; the following rounds count up. */
  readonly seed: number;
  readonly engines?: number;
  readonly reportFile?: string | undefined;
};

/** Campaign G: a test for each shape, then RESULT lines. */
export function describeRaces({ shapes, rounds, seed, engines, reportFile }: RaceScope): void {
  const title = 'Several instances work on the same container, and one of them may be killed';
  describeInLab(`G: ${title}`, (lab) => {
    const team = engineTeam(lab, { letter: 'G', title, count: engines, reportFile });
    test.each(shapes)('$name', { timeout: 3_600_000 }, async (shape) => {
      const seeds = Array.from({ length: rounds }, (_, round) => seed + round);
      const results = await shareOut(team, seeds, async (engine, each) => ({
        seed: each,
        ...(await runRace(lab, engine, shape, planRace(each))),
      }));
      const bad = results.filter(({ faults }) => faults.length > 0);
      console.log(`SAID ${shape.name}: ${JSON.stringify(countEach(results.flatMap(({ said }) => said)))}`);
      team.note({ shape: shape.name, points: results.length, lost: bad.length, byEngine: 0 });
      expect(bad.map(({ seed: of, faults }) => `--seed ${of} --rounds 1: ${faults.join('\n')}`)).toEqual([]);
      expect(results).toHaveLength(rounds);
    });
  });
}

function countEach(words: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

/**
 * A container alone, with volumes, a hard group, and a version that must not stay. Each leads to another kind of race.
 */
export const racedShapes: readonly string[] = [
  'a published port, unless-stopped',
  'always, a named and an anonymous volume',
  'a group of two: one lives in the network namespace of the other',
  'on-failure, the new version ends at once',
];
