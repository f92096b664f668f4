import type { LabEngine } from '../../lab/engine/engine.ts';
import type { Lab } from '../../lab/lab.ts';
import type { Campaign, Incident } from './campaigns.ts';
import { shareOut } from './engine-team.ts';
import { faultsAfter, lookBefore, lookWhoRuns, type Running } from './inspection.ts';
import { type Call, discoverCalls } from './points.ts';
import { untruthsOf, untruthsOfRepair } from './report.ts';
import type { Shape } from './shapes.ts';
import { type Run, setStage, type Strike } from './stage.ts';

export type Point = { readonly call: Call; readonly incident: Incident };

export type PointResult = {
  /** Name for `--point`. */
  readonly point: string;
  readonly call: string;
  /** Errors at the end, with the output; empty if none. */
  readonly faults: readonly string[];
  /** Effects of the engine itself, which cannot be undone from outside. */
  readonly byEngine: readonly string[];
};

export type CampaignPlan = {
  readonly campaign: Campaign;
  readonly shape: Shape;
  /** Selected points; default all. */
  readonly wanted?: ((point: Point) => boolean) | undefined;
  /** The name of the only point to repeat. */
  readonly only?: string | undefined;
};

/** Every call of an update of this shape with every incident, divided among the engines. */
export async function runCampaign(
  lab: Lab,
  engines: readonly LabEngine[],
  { campaign, shape, wanted = () => true, only }: CampaignPlan,
): Promise<PointResult[]> {
  const [first] = engines;
  if (first === undefined) return [];
  const calls = await discoverCalls(lab, first, shape, campaign.updater);
  const incidents = campaign.incidents.filter(({ needsGoodVersion = false }) => shape.good || !needsGoodVersion);
  const points = calls
    .filter(({ text }) => campaign.at?.test(text) !== false)
    .flatMap((call) => incidents.map((incident): Point => ({ call, incident })))
    .filter((point) => (only === undefined ? wanted(point) : nameOf(point) === only));
  return (
    await shareOut({ engines }, points, (engine, point) => strike(lab, engine, { campaign, shape, point }))
  ).flat();
}

function nameOf({ call, incident }: Point): string {
  return `${incident.name} ${call.change}`;
}

type Scene = { readonly campaign: Campaign; readonly shape: Shape; readonly point: Point };

async function strike(lab: Lab, engine: LabEngine, scene: Scene): Promise<PointResult[]> {
  if (scene.campaign.nested !== true) return [await strikeOnce(lab, engine, scene)];
  const results: PointResult[] = [];
  for (let second = 1; ; second += 1) {
    const result = await strikeOnce(lab, engine, scene, second);
    if (result === undefined) return results;
    results.push(result);
  }
}

async function strikeOnce(lab: Lab, engine: LabEngine, scene: Scene): Promise<PointResult>;
async function strikeOnce(lab: Lab, engine: LabEngine, scene: Scene, second: number): Promise<PointResult | undefined>;
async function strikeOnce(
  lab: Lab,
  engine: LabEngine,
  { campaign, shape: asItIs, point }: Scene,
  second?: number,
): Promise<PointResult | undefined> {
  const { call, incident } = point;
  const shape = campaign.isMeddledWith === true ? { ...asItIs, mayBeCopied: true } : asItIs;
  const stage = await setStage(lab, engine, shape, campaign.updater);
  const before = await lookBefore(stage, shape);
  const restarts: Promise<Running>[] = [];
  const at: Strike = {
    change: call.change,
    fault: (kill) =>
      incident.fault({ engine, kill, restart: (work) => restarts.push(work.then(() => lookWhoRuns(engine))) }),
  };
  const first = await stage.update(at);
  const runs: Run[] = [first];
  const [running] = await Promise.all(restarts);
  await incident.desiredEndState?.(engine);
  const all = [...(await untruthsOf(stage, shape, before, { run: first, mayBeDown: campaign.engineDies === true }))];
  if (second !== undefined) {
    const killed = await stage.startAgain({ change: second, fault: (kill) => ({ kind: 'kill', when: 'after', kill }) });
    if (killed.changes.length < second) return undefined;
    runs.push(killed);
  }
  const next = await stage.startAgain();
  runs.push(next);
  all.push(...(await untruthsOfRepair(stage, next)), ...(await faultsAfter(stage, shape, before, running)));
  const third = await stage.startAgain();
  // A repeated pull is not a repair.
  const repairs = third.changes.filter(({ path }) => !path.includes('/images/create'));
  if (repairs.length > 0) all.push(`a second start still had to repair: ${repairs.map(({ path }) => path).join(', ')}`);
  const byEngine = all.filter(
    (fault) => campaign.engineDies === true && isEnginesOwn(fault, point, shape, first.changes),
  );
  const faults = all.filter((fault) => !byEngine.includes(fault));
  const printed = runs.map(({ output }, index) => `run ${index + 1}: ${output}`);
  return {
    point: nameOf(point),
    call: call.text,
    faults: faults.length === 0 ? [] : [...faults, ...printed],
    byEngine,
  };
}

/**
 * Before there is a journal and after the old container is removed, no transaction knows which containers ran before
 * the engine was killed. Containers apart have a transaction each.
 */
function isEnginesOwn(fault: string, point: Point, { selfRemoving, apart }: Shape, made: Run['changes']): boolean {
  const { change, of } = point.call;
  const name = /^"(.+)" is exited$/.exec(fault)?.[1];
  const isDown = name !== undefined;
  if (selfRemoving === true) return isRemovedByEngine(fault, change - 1, of) || (isDown && isUnmarked(point, made));
  const created = apart === true ? `/containers/create?name=${name}.upkeep-new` : '/containers/create';
  const journal = of.findIndex((text) => text.includes(created));
  const isEnd = (text: string, index: number) => index > journal && /^DELETE .*\/containers\//.test(text);
  const end = apart === true ? of.findIndex(isEnd) : of.findLastIndex((text) => text.startsWith('DELETE '));
  return isDown && (change - 1 <= journal || change - 1 >= end);
}

/**
 * Whether the interrupted update had removed its mark. Then a successor without `--rm` is down like any other
 * container.
 */
function isUnmarked({ call, incident }: Point, made: Run['changes']): boolean {
  const unmark = 1 + made.findIndex(({ method, path }) => method === 'DELETE' && path.includes('/images/upkeep-open'));
  return unmark > 0 && (unmark < call.change || (unmark === call.change && !incident.name.endsWith('before')));
}

/**
 * A starting engine removes containers with `--rm`. Before the stand-in exists and after the commit, nothing replaces
 * them.
 */
function isRemovedByEngine(fault: string, change: number, of: readonly string[]): boolean {
  const autoRemoveReplica = of.findIndex((text) => text.includes('.upkeep-standin'));
  const commit = of.findIndex((text) => text.includes('.upkeep-drop-'));
  return fault === 'the containers are gone' && (change <= autoRemoveReplica || (commit >= 0 && change >= commit));
}
