import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll } from 'vitest';
import type { EngineOptions, LabEngine } from '../../lab/engine/engine.ts';
import { hasContainerdStore } from '../../lab/engine/image-id.ts';
import type { Lab } from '../../lab/lab.ts';
import { isPodman } from '../../lab/engine/podman.ts';

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

/** Engines that divide the points of a campaign among themselves. */
export type EngineTeam = {
  readonly engines: readonly LabEngine[];
  readonly note: (row: Omit<CampaignRow, 'campaign' | 'title' | 'engine'>) => void;
};

export type EngineTeamOptions = {
  readonly letter: string;
  readonly title: string;
  /** Their number; default four. */
  readonly count?: number | undefined;
  readonly args?: readonly string[] | undefined;
  readonly dataMiB?: number | undefined;
  readonly engineDies?: boolean | undefined;
  readonly disk?: EngineOptions['disk'];
  /** Path of the JSON file that gets each row at once. */
  readonly reportFile?: string | undefined;
};

/**
 * Starts the engines before the tests of this `describe`, and removes them afterwards. Prints a RESULT line for each row.
 * A run mostly waits, so more engines than cores are faster. Podman has one engine, because several would assign the same
 * addresses.
 */
export function engineTeam(lab: Lab, options: EngineTeamOptions): EngineTeam {
  const { letter, title, count = 4, args = [], dataMiB, engineDies = false, disk, reportFile } = options;
  const engines: LabEngine[] = [];
  const rows: CampaignRow[] = [];
  let engineName = '';

  beforeAll(async () => {
    for (let index = 0; index < (isPodman ? 1 : count); index += 1)
      engines.push(
        await lab.startEngine({ name: `kill${index}`, args, disk, ...(dataMiB === undefined ? {} : { dataMiB }) }),
      );
    const { body } = (await engines[0]?.call('GET', '/version')) ?? {};
    engineName = nameOfEngine((body as { readonly Version: string }).Version);
  });
  afterAll(async () => {
    const total = (of: 'points' | 'lost' | 'byEngine'): number => rows.reduce((sum, row) => sum + row[of], 0);
    for (const { shape, points, lost } of rows) console.log(`RESULT ${shape}: ${points} points, ${lost} lost`);
    const byEngine = engineDies ? `, ${total('byEngine')} left down by the engine itself` : '';
    const sum = `${total('points')} points of ${rows.length} shapes: ${total('lost')} lost${byEngine}`;
    console.log(`RESULT ${title} at ${sum} (${engineName})`);
    for (const engine of engines) await engine.remove();
  });
  return {
    engines,
    note: (row) => {
      rows.push({ campaign: letter, title, engine: engineName, ...row });
      if (reportFile !== undefined) keep(reportFile, rows);
    },
  };
}

/** Keeps the stored rows of other shapes. */
function keep(file: string, rows: readonly CampaignRow[]): void {
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as readonly CampaignRow[]) : [];
  const others = known.filter(({ shape }) => !rows.some((row) => row.shape === shape));
  writeFileSync(file, `${JSON.stringify([...others, ...rows], undefined, 2)}\n`);
}

function nameOfEngine(version: string): string {
  if (isPodman) return `Podman ${version}`;
  return `Docker ${version}${hasContainerdStore ? ", containerd's image store" : ''}`;
}

/** Every engine takes the next point until there is none left. Returns all results, in no order. */
export async function shareOut<Point, Result>(
  { engines }: Pick<EngineTeam, 'engines'>,
  points: readonly Point[],
  work: (engine: LabEngine, point: Point) => Promise<Result>,
): Promise<Result[]> {
  const queue = [...points];
  const results: Result[] = [];
  await Promise.all(
    engines.map(async (engine) => {
      for (let point = queue.shift(); point !== undefined; point = queue.shift())
        results.push(await work(engine, point));
    }),
  );
  return results;
}
