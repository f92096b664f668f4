import type { LabEngine } from '../../../lab/engine/engine.ts';
import type { Lab } from '../../../lab/lab.ts';
import { imageIdOf } from '../../../lab/engine/image-id.ts';
import { handsOn } from '../engine-hands.ts';
import { lookBefore } from '../inspection.ts';
import { progressOf, type Resident, stories, type Story, wrongInAnyCase } from './people.ts';
import type { Call } from '../points.ts';
import type { Shape } from '../shapes.ts';
import { type Run, setStage, type Stage } from '../stage.ts';

/** A person or program acts after a call at which the updater was killed, or after the end of its update. */
export type PeoplePoint = {
  /** Name for `--point`. */
  readonly name: string;
  readonly story: Story;
  readonly change: number | undefined;
  /** Happens to the engine between the act and the next start. */
  readonly disaster: ((engine: LabEngine) => Promise<unknown>) | undefined;
};

export function peoplePoints(calls: readonly Call[], shape: Shape): readonly PeoplePoint[] {
  const told = stories.filter(({ removes = false }) => shape.good || !removes);
  return told.flatMap((story): PeoplePoint[] => [
    ...calls.map(({ change }) => ({ name: `${story.name} after ${change}`, story, change, disaster: undefined })),
    { name: `${story.name} after the end`, story, change: undefined, disaster: undefined },
    ...[calls.length, undefined].flatMap((change) =>
      disasters.map(([what, disaster]) => ({
        story,
        change,
        disaster,
        name: `${story.name} after ${change === undefined ? 'the end' : String(change)}, then ${what}`,
      })),
    ),
  ]);
}

const disasters: readonly (readonly [string, NonNullable<PeoplePoint['disaster']>])[] = [
  ['the engine is killed', (engine) => engine.kill().then(() => engine.start())],
  ['the power is cut', (engine) => engine.powerCut().then(() => engine.start())],
];

/** Errors after the next start, with the output; empty if none. */
export async function meetPeople(
  lab: Lab,
  engine: LabEngine,
  { shape, point }: { readonly shape: Shape; readonly point: PeoplePoint },
): Promise<readonly string[]> {
  const { story, change, disaster } = point;
  const stage = await setStage(lab, engine, shape);
  const original = (await lookBefore(stage, shape)).containers.get('web');
  if (original === undefined) throw new Error(`campaign M is about "web", which "${shape.name}" has not`);
  const hands = handsOn(stage, original);
  const killed = await stage.update(
    change === undefined ? undefined : { change, fault: (kill) => ({ kind: 'kill', when: 'after', kill }) },
  );
  const before = await hands.look();
  const web = before.find(({ name }) => name === 'web');
  if (web === undefined) return [];
  await story.act(hands, web, before);
  await disaster?.(engine);
  const done = await hands.look();
  const next = await stage.startAgain();
  const now = await hands.look();
  const third = await stage.startAgain();
  const progress = progressOf(before, 'web', original.Id);
  const scene = { before, done, now, name: 'web', oldId: original.Id, progress, engineDied: disaster !== undefined };
  const repairs = third.changes.filter(({ path }) => !path.includes('/images/create'));
  const faults = [
    ...story.wrong(scene),
    ...wrongInAnyCase(scene, next.output),
    ...untruths(next, now, { stage, before }),
    ...(repairs.length > 0
      ? [`a second start still had to repair: ${repairs.map(({ path }) => path).join(', ')}`]
      : []),
  ];
  return faults.length === 0 ? [] : [...faults, ...[killed, next].map(({ output }) => output)];
}

/**
 * Errors in the report: the container of a completed update has the new version, that of a rolled back one has not,
 * unless a person changed it.
 */
function untruths(
  { output }: Run,
  now: readonly Resident[],
  { stage, before }: { readonly stage: Stage; readonly before: readonly Resident[] },
): string[] {
  const web = now.find(({ name }) => name === 'web');
  if (web === undefined) return [];
  const isNew = web.imageId === imageIdOf(stage.versions.next);
  const isTheirs = before.every(({ id }) => id !== web.id);
  return [
    ...(/Finished an interrupted update/.test(output) && !isNew ? ['it says finished, and that is not so'] : []),
    ...(/Undid an interrupted update/.test(output) && isNew && !isTheirs ? ['it says undone, and that is not so'] : []),
  ];
}
