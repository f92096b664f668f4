import { expect } from 'vitest';
import { imageIdOf } from '../../lab/engine/image-id.ts';
import type { LabEngine } from '../../lab/engine/engine.ts';
import type { Lab } from '../../lab/lab.ts';
import { faultsAfter, lookBefore } from './inspection.ts';
import { untruthsOf } from './report.ts';
import type { Shape } from './shapes.ts';
import { setStage, type Updater } from './stage.ts';

/** One of the changing calls of an update, counted from 1, and their number. */
export type Call = {
  readonly change: number;
  readonly text: string;
  readonly of: readonly string[];
  /** Sent before the previous one was answered. */
  readonly overlaps: boolean;
};

/** A run without a fault shows the list of calls, so a new call adds its points. */
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
  return clean.changes.map(({ overlaps }, index) => ({
    change: index + 1,
    text: texts[index] ?? '',
    of: texts,
    overlaps,
  }));
}

/**
 * Whether a death before this call leaves the engine in another state than a death after the previous call. This is so
 * if containers continue after the previous call: a start (of a container, or of a hook in it), a stop or a kill.
 */
export function isBehindHealthCheck({ change, of, overlaps }: Pick<Call, 'change' | 'of' | 'overlaps'>): boolean {
  return overlaps || /\/(?:start|stop|kill|restart)(?:\?|$)/.test(of[change - 2] ?? '');
}
