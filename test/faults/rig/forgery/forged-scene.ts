import type { LabEngine } from '../../../lab/engine/engine.ts';
import type { Moment } from '../../../lab/proxy/fault-proxy.ts';
import type { Lab } from '../../../lab/lab.ts';
import { makeStreet } from '../people/engine-street.ts';
import type { Forgery, Labels } from './forgery.ts';
import { faultsAfter, lookBefore } from '../inspection.ts';
import type { Shape } from '../shapes.ts';
import { setStage } from '../stage.ts';

export type ForgedScene = {
  readonly shape: Shape;
  readonly killedAt: number;
  readonly when: Moment;
  readonly flags: readonly string[];
  readonly forgeries: readonly Forgery[];
  readonly real: Labels;
};

/** Labels of a successor from an undisturbed update. */
export async function realLabels(lab: Lab, engine: LabEngine, shape: Shape): Promise<Labels> {
  const stage = await setStage(lab, engine, shape);
  await stage.update();
  const [name = ''] = Object.keys(shape.containers);
  const labels = (await engine.inspect(name))?.Config.Labels ?? {};
  if (labels['upkeep.tx.v'] === undefined) throw new Error('an update has left no journal');
  return labels;
}

/** An update is killed, a forger acts before and after, then follow a start, a run, and another start. */
export async function harmOfForgeries(
  lab: Lab,
  engine: LabEngine,
  { shape, killedAt, when, flags, forgeries, real }: ForgedScene,
): Promise<readonly string[]> {
  const stage = await setStage(lab, engine, shape);
  const street = await makeStreet(lab, stage, shape, real);
  const before = await lookBefore(stage, shape);
  const forge = async (moment: Forgery['comes']) => {
    for (const forgery of forgeries) if (forgery.comes === moment) await street.forge(forgery);
  };
  await forge('first');
  const names = Object.keys(shape.containers);
  const killed = await stage.run(['update', ...names], {
    rules: (kill) => [{ at: killedAt, fault: { kind: 'kill', when, kill } }],
  });
  await forge('last');
  const runs = [killed, await stage.startAgain(), await stage.run(['update', ...flags]), await stage.startAgain()];
  const harm = [
    ...(await street.harm()),
    ...(await faultsAfter(stage, shape, before, before.running, await street.apart())),
  ];
  return harm.length === 0 ? [] : [...harm, ...runs.map(({ output }, index) => `run ${index + 1}: ${output}`)];
}
