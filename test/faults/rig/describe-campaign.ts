import { expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { campaigns, shapeWithoutSync } from './campaigns.ts';
import { engineTeam } from './engine-team.ts';
import { type Point, type PointResult, runCampaign } from './run-campaign.ts';
import type { Shape } from './shapes.ts';

export type CampaignScope = {
  readonly shapes: readonly Shape[];
  /** Selected points; default all. */
  readonly wanted?: (point: Point) => boolean;
  /** Minimum number of points for a shape; default 11. */
  readonly atLeast?: number;
  /** The only point to repeat. */
  readonly only?: string | undefined;
  /** Path of the JSON file with the rows. */
  readonly reportFile?: string | undefined;
};

/** A test for each shape, and at the end lines that begin with RESULT. */
export function describeCampaign(
  letter: string,
  { shapes, wanted, atLeast = 11, only, reportFile }: CampaignScope,
): void {
  const campaign = campaigns[letter];
  if (campaign === undefined)
    throw new Error(`Cannot run campaign "${letter}": they are ${Object.keys(campaigns).join(', ')}`);

  describeInLab(`${letter}: ${campaign.title} at every call of an update`, (lab) => {
    const { title, engineArgs: args, dataMiB, engineDies, disk } = campaign;
    const { engines, note } = engineTeam(lab, { letter, title, args, dataMiB, engineDies, disk, reportFile });

    test.each(
      shapes
        .filter((shape) => campaign.isMeddledWith !== true || mayBeMeddledWith(shape))
        .filter(({ name }) => campaign.shapes?.includes(name) ?? name !== shapeWithoutSync),
    )('$name', { timeout: 3_600_000 }, async (shape) => {
      const results = await runCampaign(lab, engines, { campaign, shape, wanted, only });
      const bad = results.filter(({ faults }) => faults.length > 0);
      note({ shape: shape.name, points: results.length, lost: bad.length, byEngine: count(results) });
      if (campaign.losesData === true) return expect(bad.length).toBeGreaterThan(0);
      expect(bad.map(({ point, call, faults }) => `--point "${point}" (${call}): ${faults.join('; ')}`)).toEqual([]);
      expect(results.length).toBeGreaterThanOrEqual(only === undefined ? atLeast : 1);
    });
  });
}

/** A person who prunes removes stopped containers, kept ones too, and means to. */
function mayBeMeddledWith({ good, keeps = false, containers }: Shape): boolean {
  const states = Object.values(containers);
  return (good || states.length === 1) && !keeps && states.every((state) => state === 'running');
}

function count(results: readonly PointResult[]): number {
  return results.filter(({ byEngine }) => byEngine.length > 0).length;
}
