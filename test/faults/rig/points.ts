import { expect } from 'vitest';
import { imageIdOf } from '../../lab/image-id.ts';
import type { LabEngine } from '../../lab/engine.ts';
import type { Lab } from '../../lab/lab.ts';
import { faultsAfter, lookBefore } from './inspection.ts';
import { untruthsOf } from './report.ts';
import type { Shape } from './shapes.ts';
import { setStage, type Updater } from './stage.ts';

/** One of the state-changing calls of an update, from 1, and how many there are. */
export type Call = { readonly change: number; readonly text: string; readonly of: readonly string[] };

/** One clean run tells which calls there are: a new call brings its points with it. */
export async function discoverCalls(
  lab: Lab,
  engine: LabEngine,
  shape: Shape,
  updater: Updater = 'upkeep',
): Promise<Call[]> {
  const stage = await setStage(lab, engine, shape, updater);
  const before = await lookBefore(stage, shape);
  const clean = await stage.update();
  const untruths = await untruthsOf(stage, shape, before, { run: clean, mayBeDown: false });
  if (updater === 'upkeep') expect([...untruths, ...(await faultsAfter(stage, shape, before))]).toEqual([]);
  const first = await engine.inspect(Object.keys(shape.containers)[0] ?? '');
  if (updater === 'upkeep') expect(first?.Image === imageIdOf(stage.versions.next), clean.output).toBe(shape.good);
  const texts = clean.changes.map(
    ({ method, path }) => `${method} ${path.replace(/\/[0-9a-f]{64}/g, '/ID').slice(0, 80)}`,
  );
  return texts.map((text, index) => ({ change: index + 1, text, of: texts }));
}
