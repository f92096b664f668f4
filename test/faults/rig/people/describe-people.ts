import { expect, test } from 'vitest';
import { describeInLab } from '../../../lab/describe-in-lab.ts';
import { engineTeam, shareOut } from '../engine-team.ts';
import { meetPeople, peoplePoints } from './meet-people.ts';
import { discoverCalls } from '../points.ts';
import type { Shape } from '../shapes.ts';

export type PeopleScope = {
  readonly shapes: readonly Shape[];
  readonly only?: string | undefined;
  readonly reportFile?: string | undefined;
};

/** Campaign M: a test for each shape, then RESULT lines. */
export function describePeople({ shapes, only, reportFile }: PeopleScope): void {
  const title = 'The updater is killed, and people and tools act before the next start';
  describeInLab(`M: ${title}`, (lab) => {
    const team = engineTeam(lab, { letter: 'M', title, reportFile });
    test.each(shapes)('$name', { timeout: 7_200_000 }, async (shape) => {
      const calls = await discoverCalls(lab, team.engines[0]!, shape);
      const points = peoplePoints(calls, shape).filter(({ name }) => only === undefined || name === only);
      const results = await shareOut(team, points, async (engine, point) => ({
        point: point.name,
        faults: await meetPeople(lab, engine, { shape, point }),
      }));
      const bad = results.filter(({ faults }) => faults.length > 0);
      team.note({ shape: shape.name, points: results.length, lost: bad.length, byEngine: 0 });
      expect(bad.map(({ point, faults }) => `--point "${point}": ${faults.join('\n')}`)).toEqual([]);
      expect(results.length).toBeGreaterThan(0);
    });
  });
}

/** Shapes of one container. */
export const peopledShapes: readonly string[] = [
  'a published port, unless-stopped',
  'always, a named and an anonymous volume',
  'on-failure, the new version ends at once',
  'kept after its update, always, a named volume',
];
