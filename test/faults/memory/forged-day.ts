import fc from 'fast-check';
import { createApplication } from '../../../src/application/create-application.ts';
import type { ServiceSettings } from '../../../src/domain/settings/effective-settings.ts';
import type { ForgedName, Forgery } from '../rig/forgery/forgery.ts';
import { faultsIn, runKilled, setStage, settings, type Shape, shapes, type Stage } from './stage.ts';
import { makeStreet } from './street.ts';

/** An honest update that is killed, the forger's actions before and after, and the next start of the service. */
export type Day = {
  readonly shape: Shape;
  /** Number of the call at which it is killed; beyond the last one it ends by itself. */
  readonly killedAt: number;
  readonly when: 'before' | 'during' | 'after';
  readonly forgeries: readonly Forgery[];
  /** From the kill to the forgeries, and from there to the next start. */
  readonly pausesMs: readonly [number, number];
  readonly labelSettings: Partial<ServiceSettings>;
};

export function anyDay(forgeries: fc.Arbitrary<readonly Forgery[]>): fc.Arbitrary<Day> {
  return fc.record({
    shape: fc.constantFrom(...shapes).map((shape) => named(shape)),
    killedAt: fc.integer({ min: 1, max: 24 }),
    when: fc.constantFrom('before', 'during', 'after'),
    forgeries,
    pausesMs: fc.tuple(fc.constantFrom(300, 2000, 60_000), fc.constantFrom(0, 1000, 600_000, 9_000_000)),
    labelSettings: fc.constantFrom<Partial<ServiceSettings>[]>(
      {},
      { monitorOnly: true },
      { labelEnable: true },
      { scope: 'ours' },
      { cleanup: true },
      { disableContainers: ['vault', 'job', 'idle'] },
    ),
  });
}

/** A failure shows the shape by its name. */
function named(shape: Shape): Shape {
  return { ...shape, [fc.toStringMethod]: () => shape.name } as Shape;
}

/** Changes that a forger caused; empty if the result is the same as without one. */
export async function harmOf(day: Day): Promise<string[]> {
  const [withForger, without] = [await spend(day), await spendInPeace(day)];
  if (takesPlainName(day)) return [...withForger.harm];
  const faults = withForger.faults.filter((fault) => !without.faults.includes(fault) && !isOfTheRun(fault, day));
  const harm = [...withForger.harm, ...faults];
  if (harm.length > 0 || takesNamesOfTheUpdate(day) || withForger.outcome === without.outcome) return harm;
  return [`it ended as ${withForger.outcome} instead of ${without.outcome}`];
}

/**
 * Lost containers. A forger may take a free name, like anyone. But the old container or its honest successor must
 * stay, and so must all others.
 */
export async function lossOf(day: Day): Promise<string[]> {
  const { harm, isLost } = await spend(day);
  return [...harm, ...(isLost ? ['neither the old container nor its successor is left'] : [])];
}

/** `harm` to bystanders, `faults` of the honest update. */
type Ending = {
  readonly harm: readonly string[];
  readonly faults: readonly string[];
  readonly outcome: string;
  readonly isLost: boolean;
};

async function spend({ shape, killedAt, when, forgeries, pausesMs, labelSettings }: Day): Promise<Ending> {
  const stage = await setStage(shape);
  const street = await makeStreet(stage);
  const { clock } = stage.scene;
  const forge = async (moment: Forgery['comes']) => {
    for (const forgery of forgeries) if (forgery.comes === moment) await street.forge(forgery);
  };
  await forge('first');
  await runKilled(stage, [{ at: killedAt, fault: { kind: 'crash', when } }]);
  await clock.run(() => clock.sleep(pausesMs[0]));
  await forge('last');
  await clock.run(() => clock.sleep(pausesMs[1]));
  const failures: string[] = [];
  for (const life of ['start', 'run', 'start'] as const) {
    await live(stage, life, { ...settings, ...labelSettings }).catch((error: unknown) => {
      failures.push(`a ${life} failed: ${String(error)}`);
    });
  }
  const harm = [...failures, ...street.harm()];
  const apart = street.apart();
  const isLost = Object.keys(stage.scene.sandbox.control.snapshot().containers).every((name) => apart.has(name));
  const ending: Ending = { harm, faults: faultsIn(stage, shape, apart), outcome: outcomeOf(stage), isLost };
  stage.scene.sandbox.control.close();
  return ending;
}

const peaceful = new Map<string, Promise<Ending>>();

/** The same day without forgeries: a run with other settings than the last update may act differently. */
function spendInPeace(day: Day): Promise<Ending> {
  const { shape, forgeries: _, ...rest } = day;
  const key = JSON.stringify([shape.name, rest]);
  const known = peaceful.get(key) ?? spend({ ...day, forgeries: [] });
  peaceful.set(key, known);
  return known;
}

/** An update that was prevented is made by the run, which leaves a container running or stopped as it was. */
function isOfTheRun(fault: string, day: Day): boolean {
  return (
    day.shape.desiredEndState !== undefined &&
    takesNamesOfTheUpdate(day) &&
    / is (?:running|exited|created)$/.test(fault)
  );
}

/** True if a forgery holds a name of the transaction, and so prevents the update or its end. */
function takesNamesOfTheUpdate({ forgeries }: Day): boolean {
  return forgeries.some(
    ({ createdAs, renamedTo }) => isHonest(createdAs) || (renamedTo !== undefined && isHonest(renamedTo)),
  );
}

/** Anyone may take a name that is free between two calls; `lossOf` finds the forbidden results. */
function takesPlainName({ forgeries }: Day): boolean {
  const isPlain = (name: ForgedName | undefined) => name !== undefined && isHonest(name) && name.ending === '';
  return forgeries.some(({ createdAs, renamedTo }) => isPlain(createdAs) || isPlain(renamedTo));
}

const isHonest = ({ of }: ForgedName) => of === 'web' || of === 'app';

/** The final version, and whether it runs. */
function outcomeOf({ scene, before }: Stage): string {
  const { containers } = scene.sandbox.control.snapshot();
  return [...before.keys()]
    .map((name) => `"${name}" of ${containers[name]?.imageId.slice(0, 12)} ${containers[name]?.state.status}`)
    .join(', ');
}

async function live({ scene }: Stage, life: 'start' | 'run', labelSettings: ServiceSettings): Promise<void> {
  const { outside, connection } = scene.startProcess();
  const application = createApplication(outside, labelSettings);
  const request = { trigger: 'command' as const, images: [], containers: [] };
  await scene.clock.run<unknown>(() => (life === 'start' ? application.recover() : application.update(request)));
  connection.crash();
  await scene.clock.run(() => scene.clock.sleep(60_000));
}
