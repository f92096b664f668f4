import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { LabEngine } from '../../lab/engine.ts';
import { hasContainerdStore } from '../../lab/image-id.ts';
import { isPodman } from '../../lab/podman.ts';
import { campaigns } from './campaigns.ts';
import { type PointResult, runCampaign } from './run-campaign.ts';
import type { Shape } from './shapes.ts';

export type CampaignScope = {
  readonly shapes: readonly Shape[];
  /** Names of incidents to leave out. */
  readonly without?: readonly string[];
  /** The one point to repeat. */
  readonly only?: string | undefined;
  /** Where the rows go, as JSON. */
  readonly reportFile?: string | undefined;
};

/** One line of the table of results. */
export type CampaignRow = {
  readonly campaign: string;
  readonly title: string;
  /** Its name and version. */
  readonly engine: string;
  readonly shape: string;
  readonly points: number;
  readonly lost: number;
  readonly byEngine: number;
};

/** Most of a run is waiting, so that more engines than cores pay. Podmans beside each other would give out the same addresses. */
const engineCount = isPodman ? 1 : 4;

/** A test for each shape, and at the end a line each that starts with RESULT. */
export function describeCampaign(letter: string, { shapes, without = [], only, reportFile }: CampaignScope): void {
  const found = campaigns[letter];
  if (found === undefined)
    throw new Error(`Cannot run campaign "${letter}": they are ${Object.keys(campaigns).join(', ')}`);
  const campaign = { ...found, incidents: found.incidents.filter(({ name }) => !without.includes(name)) };

  describeInLab(`${letter}: ${campaign.title} at every call of an update`, (lab) => {
    const engines: LabEngine[] = [];
    const rows: CampaignRow[] = [];
    let engineName = '';

    beforeAll(async () => {
      const { engineArgs: args = [], dataMiB } = campaign;
      for (let index = 0; index < engineCount; index += 1)
        engines.push(
          await lab.startEngine({ name: `kill${index}`, args, ...(dataMiB === undefined ? {} : { dataMiB }) }),
        );
      const { body } = (await engines[0]?.call('GET', '/version')) ?? {};
      engineName = nameOfEngine((body as { readonly Version: string }).Version);
    });
    afterAll(async () => {
      const total = (of: 'points' | 'lost' | 'byEngine'): number => rows.reduce((sum, row) => sum + row[of], 0);
      for (const { shape, points, lost } of rows) console.log(`RESULT ${shape}: ${points} points, ${lost} lost`);
      const byEngine = campaign.engineDies === true ? `, ${total('byEngine')} left down by the engine itself` : '';
      const sum = `${total('points')} points of ${rows.length} shapes: ${total('lost')} lost${byEngine}`;
      console.log(`RESULT ${campaign.title} at ${sum} (${engineName})`);
      if (reportFile !== undefined) writeFileSync(reportFile, `${JSON.stringify(rows, undefined, 2)}\n`);
      for (const engine of engines) await engine.remove();
    });

    test.each(
      shapes
        .filter(({ good }) => good || campaign.goodOnly !== true)
        .filter(({ name }) => campaign.shapes?.includes(name) !== false),
    )('$name', { timeout: 3_600_000 }, async (shape) => {
      const results = await runCampaign(lab, engines, { campaign, shape, only });
      const bad = results.filter(({ faults }) => faults.length > 0);
      rows.push({
        ...{ campaign: letter, title: campaign.title, engine: engineName, shape: shape.name },
        ...{ points: results.length, lost: bad.length, byEngine: count(results) },
      });
      if (campaign.updater === 'removing') return expect(bad.length).toBeGreaterThan(0);
      expect(bad.map(({ point, call, faults }) => `--point "${point}" (${call}): ${faults.join('; ')}`)).toEqual([]);
      expect(results.length).toBeGreaterThan(only === undefined ? 10 : 0);
    });
  });
}

function nameOfEngine(version: string): string {
  if (isPodman) return `Podman ${version}`;
  return `Docker ${version}${hasContainerdStore ? ", containerd's image store" : ''}`;
}

function count(results: readonly PointResult[]): number {
  return results.filter(({ byEngine }) => byEngine.length > 0).length;
}
