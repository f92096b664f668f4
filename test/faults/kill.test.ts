import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import type { LabEngine } from '../lab/engine.ts';
import type { Moment } from '../lab/fault-proxy.ts';
import type { Lab } from '../lab/lab.ts';
import { faultsAfter, lookBefore } from './rig/inspection.ts';
import { type Shape, shapes } from './rig/shapes.ts';
import { setStage } from './rig/stage.ts';

/** `during` too, where asked for: the engine is at work when its caller dies. */
const moments: readonly Moment[] =
  process.env['UPKEEP_FAULTS'] === 'all' ? ['before', 'during', 'after'] : ['before', 'after'];

/** Most of a run is waiting, so that more engines than cores pay. */
const engineCount = 4;

type Point = { readonly change: number; readonly moment: Moment; readonly call: string };
type Result = Point & { readonly faults: readonly string[] };

describeInLab('the updater is killed at every call of an update', (lab) => {
  const engines: LabEngine[] = [];
  const table: { readonly shape: string; readonly points: number; readonly lost: number }[] = [];

  beforeAll(async () => {
    for (let index = 0; index < engineCount; index += 1) engines.push(await lab.startEngine({ name: `kill${index}` }));
  });
  afterAll(async () => {
    const points = table.reduce((sum, row) => sum + row.points, 0);
    const lost = table.reduce((sum, row) => sum + row.lost, 0);
    const rows = table.map((row) => `RESULT ${row.shape}: ${row.points} points, ${row.lost} lost`);
    console.log(['', ...rows, `RESULT killed at ${points} points of ${table.length} shapes: ${lost} lost`].join('\n'));
    for (const engine of engines) await engine.remove();
  });

  test.each(shapes)('$name', { timeout: 600_000 }, async (shape) => {
    const results = await killEverywhere(lab, engines, shape);
    const bad = results.filter(({ faults }) => faults.length > 0);
    table.push({ shape: shape.name, points: results.length, lost: bad.length });
    expect(
      bad.map(({ change, moment, call, faults }) => `${moment} call ${change} (${call}): ${faults.join('; ')}`),
    ).toEqual([]);
    expect(results.length).toBeGreaterThan(10);
  });
});

async function killEverywhere(lab: Lab, engines: readonly LabEngine[], shape: Shape): Promise<Result[]> {
  const points = await discoverPoints(lab, engines[0]!, shape);
  const queue = [...points];
  const results: Result[] = [];
  await Promise.all(
    engines.map(async (engine) => {
      for (let point = queue.shift(); point !== undefined; point = queue.shift()) {
        results.push({ ...point, faults: await killAt(lab, engine, shape, point) });
      }
    }),
  );
  return results;
}

/** One clean run tells which calls there are: a new call brings its points with it. */
async function discoverPoints(lab: Lab, engine: LabEngine, shape: Shape): Promise<Point[]> {
  const stage = await setStage(lab, engine, shape);
  const before = await lookBefore(stage, shape);
  const clean = await stage.update();
  const faults = await faultsAfter(stage, shape, before);
  expect(faults, clean.output).toEqual([]);
  expect(
    (await engine.inspect(Object.keys(shape.containers)[0]!))?.Image === stage.versions.next.configDigest,
    clean.output,
  ).toBe(shape.good);
  return clean.changes.flatMap(({ change, method, path }) =>
    moments.map((moment) => ({
      change: change ?? 0,
      moment,
      call: `${method} ${path.replace(/\/[0-9a-f]{64}/g, '/ID').slice(0, 80)}`,
    })),
  );
}

async function killAt(lab: Lab, engine: LabEngine, shape: Shape, { change, moment }: Point): Promise<string[]> {
  const stage = await setStage(lab, engine, shape);
  const before = await lookBefore(stage, shape);
  const killed = await stage.update({ change, fault: (kill) => ({ kind: 'kill', when: moment, kill }) });
  const next = await stage.startAgain();
  const faults = await faultsAfter(stage, shape, before);
  const third = await stage.startAgain();
  if (third.changes.length > 0)
    faults.push(`a second start still had to repair: ${third.changes.map(({ path }) => path).join(', ')}`);
  return faults.length === 0 ? [] : [...faults, `killed: ${killed.output}`, `next start: ${next.output}`];
}
