import type { LabEngine } from '../../../lab/engine/engine.ts';
import type { FaultProxy, FaultRule } from '../../../lab/proxy/fault-proxy.ts';
import { imageIdOf } from '../../../lab/engine/image-id.ts';
import type { Lab } from '../../../lab/lab.ts';
import { faultsAfter, lookBefore } from '../inspection.ts';
import type { Entrant, EntrantKind, RacePlan } from './race-plan.ts';
import { readReport, saysUpdated, type Saying } from '../report.ts';
import type { Shape } from '../shapes.ts';
import { type Run, setStage, type Stage } from '../stage.ts';

export type RaceResult = {
  /** Errors after all have ended and one more start, with each output; empty if none. */
  readonly faults: readonly string[];
  /** The reported outcomes, one for each container and instance. They show whether the instances met. */
  readonly said: readonly string[];
};

export async function runRace(lab: Lab, engine: LabEngine, shape: Shape, race: RacePlan): Promise<RaceResult> {
  const stage = await setStage(lab, engine, shape);
  const before = await lookBefore(stage, shape);
  const runs = await runAll(stage, race);
  const desiredEndState = await stage.startAgain();
  const reports = readReports(race, runs);
  const said = reports.flatMap(({ sayings }) => (sayings ?? []).map(({ outcome }) => outcome));
  const faults = [
    ...(await faultsAfter(stage, shape, before)),
    ...untruths(shape, race, runs, reports),
    ...(await lies(stage, reports)),
  ];
  if (desiredEndState.changes.length > 0 && runs.every(({ code }) => code !== null))
    faults.push(
      `nobody died, and yet something was left: ${desiredEndState.changes.map(({ path }) => path).join(', ')}`,
    );
  const { changes } = await stage.startAgain();
  if (changes.length > 0)
    faults.push(`a second start still had to repair: ${changes.map(({ path }) => path).join(', ')}`);
  if (faults.length === 0) return { faults, said };
  const tell = ({ output, changes }: Run) => [...changes.map(({ method, path }) => `${method} ${path}`), output];
  const printed = [...runs, desiredEndState].flatMap((run, index) => [
    `--- ${index + 1}: ${race.entrants[index]?.kind ?? 'one more start'}`,
    ...tell(run),
  ]);
  return { faults: [...faults, ...printed], said };
}

const commands: Readonly<Record<EntrantKind, readonly string[]>> = {
  updater: ['update', '--json'],
  service: ['run', '--run-once', '--porcelain', 'json'],
  recoverer: ['update', 'no-such-container'],
};

/** Later instances start at a change of the first one, or at its end if it makes none. */
async function runAll(stage: Stage, { entrants: [first, ...others] }: RacePlan): Promise<readonly Run[]> {
  if (first === undefined) return [];
  const runs = new Map<Entrant, Promise<Run>>();
  const start = (entrants: readonly Entrant[]) => Promise.all(entrants.map(startOne));
  const startOne = (entrant: Entrant) =>
    new Promise<void>((resolve) => {
      const { kind, callsBefore } = entrant;
      const watch = ({ arrival, calls }: FaultProxy) =>
        void arrival(() => calls.length >= callsBefore).then(() => resolve());
      const run = stage.run(commands[kind], { watch, rules: (kill) => rulesOf(entrant, kill) });
      runs.set(entrant, run.finally(resolve));
    });
  const together = start(others.filter(({ comesAt }) => comesAt === 0));
  const changes = new Set(others.map(({ comesAt }) => comesAt).filter((change) => change > 0));
  const own = await stage.run(commands[first.kind], {
    rules: (kill) => [
      ...[...changes].map((change): FaultRule => {
        const act = () => start(others.filter(({ comesAt }) => comesAt === change));
        return { at: change, fault: { kind: 'meanwhile', when: 'before', act } };
      }),
      ...rulesOf(first, kill),
    ],
  });
  await together;
  await start(others.filter((entrant) => !runs.has(entrant)));
  return [own, ...(await Promise.all(others.flatMap((entrant) => runs.get(entrant) ?? [])))];
}

/** The kill rule precedes the delays, because the first matching rule applies. */
function rulesOf({ diesAt, delaysMs }: Entrant, kill: () => void): readonly FaultRule[] {
  return [
    ...(diesAt === undefined ? [] : [{ at: diesAt, fault: { kind: 'kill', when: 'after', kill } as const }]),
    ...delaysMs.map((ms, index) => ({ at: index + 1, fault: { kind: 'delay', when: 'before', ms } as const })),
  ];
}

type Report = { readonly who: number; readonly sayings: readonly Saying[] | undefined };

/** Reports of the instances that made one; undefined for the others. */
function readReports({ entrants }: RacePlan, runs: readonly Run[]): readonly Report[] {
  return runs.flatMap((run, index) =>
    entrants[index]?.kind === 'recoverer' || run.code === null ? [] : [{ who: index + 1, sayings: readReport(run) }],
  );
}

/** If several report, one has made the update, and the others report that they have not. */
function untruths(
  shape: Shape,
  { entrants }: RacePlan,
  runs: readonly Run[],
  reports: readonly Report[],
): readonly string[] {
  const faults = [
    ...runs.flatMap(({ code }, index) =>
      code === null && entrants[index]?.diesAt === undefined ? [`${index + 1} did not end by itself`] : [],
    ),
    ...reports.flatMap(({ who, sayings }) => (sayings === undefined ? [`${who} made no report`] : [])),
  ];
  const oneDied = runs.some(({ code }) => code === null);
  const [fewest, most] = [shape.good && !oneDied ? 1 : 0, shape.good ? 1 : 0];
  const wrong = shape.good ? ['failed', 'rolled_back', 'unknown'] : ['unknown'];
  for (const name of Object.keys(shape.containers)) {
    const said = reports.flatMap(({ who, sayings = [] }) =>
      sayings.filter((saying) => saying.name === name).map((saying) => ({ who, ...saying })),
    );
    const updated = said.filter(saysUpdated);
    if (updated.length < fewest || updated.length > most)
      faults.push(`${updated.length} say that they have updated "${name}"`);
    for (const { who, outcome, reason } of said)
      if (wrong.includes(outcome)) faults.push(`${who} says ${outcome} of "${name}": ${reason}`);
  }
  return faults;
}

/** An instance that reports an update must have left the container with the new version. */
async function lies({ engine, versions }: Stage, reports: readonly Report[]): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const { who, sayings = [] } of reports)
    for (const { name } of sayings.filter(saysUpdated))
      if ((await engine.inspect(name))?.Image !== imageIdOf(versions.next))
        faults.push(`${who} says that it has updated "${name}", which is not so`);
  return faults;
}
