import { expect, test } from 'vitest';
import { describeInLab } from '../../../lab/describe-in-lab.ts';
import { engineTeam, shareOut } from '../engine-team.ts';
import type { Shape } from '../shapes.ts';
import { clockPoints, meetClock } from './wrong-clocks.ts';

export type ClockScope = {
  readonly shapes: readonly Shape[];
  /** libfaketime. */
  readonly library: string;
  readonly only?: string | undefined;
  readonly reportFile?: string | undefined;
};

/** Campaign K: a test for each shape, then RESULT lines. */
export function describeClocks({ shapes, library, only, reportFile }: ClockScope): void {
  const title = 'The clock of the service is wrong, or is set meanwhile';
  describeInLab(`K: ${title}`, (lab) => {
    const team = engineTeam(lab, { letter: 'K', title, reportFile });
    test.each(shapes)('$name', { timeout: 3_600_000 }, async (shape) => {
      const points = clockPoints.filter(({ name }) => only === undefined || name === only);
      const results = await shareOut(team, points, async (engine, point) => ({
        point: point.name,
        faults: await meetClock(lab, engine, { shape, point, library }),
      }));
      const bad = results.filter(({ faults }) => faults.length > 0);
      team.note({ shape: shape.name, points: results.length, lost: bad.length, byEngine: 0 });
      expect(bad.map(({ point, faults }) => `--point "${point}": ${faults.join('\n')}`)).toEqual([]);
      expect(results.length).toBeGreaterThan(0);
    });
  });
}

/** One that is replaced, and one that goes back. */
export const clockedShapes: readonly string[] = [
  'a published port, unless-stopped',
  'unless-stopped, the new version is never healthy',
];
