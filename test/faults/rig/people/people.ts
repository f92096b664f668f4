/** Actions of people and tools on a container between an updater's death and its next start. */

/** A container as its engine reports it. */
export type Resident = {
  readonly id: string;
  readonly name: string;
  readonly imageId: string;
  /** `Config.Image` */
  readonly reference: string;
  readonly status: string;
  readonly running: boolean;
  /** `no` also if none was given. */
  readonly policy: string;
};

/** An engine under the control of another person or program. */
export type Hands = {
  readonly look: () => Promise<readonly Resident[]>;
  readonly stop: (id: string) => Promise<unknown>;
  readonly setPolicy: (id: string, policy: string, retries?: number) => Promise<unknown>;
  readonly rename: (id: string, name: string) => Promise<unknown>;
  readonly remove: (id: string) => Promise<unknown>;
  readonly prune: () => Promise<unknown>;
  /**
   * Inspects a container and returns a function that creates it again with its labels, optionally from another image.
   */
  readonly copy: (of: Resident, act: Recreate) => Promise<void>;
  /** The same from the original file: with its own policy, and without a journal. */
  readonly fromFile: (act: Recreate) => Promise<void>;
  readonly start: (id: string) => Promise<unknown>;
  /** The current image of the registry. */
  readonly newImageId: string;
  readonly oldImageId: string;
};

type Recreate = (create: (imageId?: string) => Promise<string>) => Promise<void>;

export type Story = {
  readonly name: string;
  /** A container is removed, so that only a bad version may be left. */
  readonly removes?: boolean;
  /** `web` has the name at that time. */
  readonly act: (hands: Hands, web: Resident, all: readonly Resident[]) => Promise<void>;
  readonly wrong: (scene: AfterStory) => string[];
};

export type AfterStory = {
  /** Before the act, after it, and after the next start. */
  readonly before: readonly Resident[];
  readonly done: readonly Resident[];
  readonly now: readonly Resident[];
  readonly name: string;
  readonly oldId: string;
  /** Progress of the update at the time of the act. */
  readonly progress: Progress;
  /** Between the act and the next start. */
  readonly engineDied: boolean;
};

/**
 * `untouched`: the old container has its name and is unchanged; `returning`: it has its name again, beside its failed
 * successor; `over`: it was removed, kept, or never to be replaced.
 */
export type Progress = 'untouched' | 'returning' | 'parked' | 'committed' | 'over';

export function progressOf(all: readonly Resident[], name: string, oldId: string): Progress {
  const old = all.find(({ id }) => id === oldId);
  const has = (ending: RegExp) => all.some((one) => one.name.startsWith(`${name}.upkeep-`) && ending.test(one.name));
  if (has(/upkeep-drop-/)) return 'committed';
  if (has(/upkeep-old-/) || (old === undefined && has(/upkeep-standin$/))) return 'parked';
  if (old?.name === name) return has(/upkeep-bad$/) ? 'returning' : 'untouched';
  return 'over';
}

/** Cases in which only a person can have caused the state. */
const isCertain = ({ progress }: AfterStory): boolean => progress === 'untouched' || progress === 'over';

/** A manual stop lasts until then: https://docs.docker.com/engine/containers/start-containers-automatically/ */
const startsWithEngine = (one: Resident | undefined): boolean => one?.policy === 'always';

export const stories: readonly Story[] = [
  {
    name: 'stopped',
    act: (hands, web) => hands.stop(web.id).then(() => undefined),
    wrong: (scene) => {
      const now = holder(scene);
      const isKept = now?.running === false || (scene.engineDied && startsWithEngine(now));
      return !isCertain(scene) || isKept ? [] : [`${tell(scene)}, and was stopped`];
    },
  },
  {
    name: 'never to be restarted, and stopped',
    act: async (hands, web) => {
      await hands.setPolicy(web.id, 'no');
      await hands.stop(web.id);
    },
    wrong: (scene) => {
      const now = holder(scene);
      const isKept = now?.running === false && now.policy === 'no';
      return !isCertain(scene) || isKept ? [] : [`${tell(scene)}, and was stopped, with policy "no"`];
    },
  },
  {
    name: 'given the policy on-failure',
    act: (hands, web) => hands.setPolicy(web.id, 'on-failure', 7).then(() => undefined),
    wrong: (scene) => {
      const [done, now] = [named(scene.done, scene.name), holder(scene)];
      const mayBeAnother = scene.progress === 'parked' || scene.progress === 'returning';
      if (done === undefined || (mayBeAnother && now?.id !== done.id)) return [];
      return now?.policy === done.policy ? [] : [`${tell(scene)}, and had "${done.policy}"`];
    },
  },
  {
    name: 'renamed',
    act: (hands, web) => hands.rename(web.id, `${web.name}-renamed`).then(() => undefined),
    wrong: (scene) => (isCertain(scene) ? unlike(scene, `${scene.name}-renamed`) : []),
  },
  {
    name: 'removed',
    removes: true,
    act: (hands, web) => hands.remove(web.id).then(() => undefined),
    wrong: (scene) =>
      scene.progress === 'over' && holder(scene) !== undefined ? [`${tell(scene)}, and was removed`] : [],
  },
  ...(['as it was', 'of the new image'] as const).flatMap((how) =>
    ([true, false] as const).map((isStarted): Story => ({
      name: `created anew ${how}, ${isStarted ? 'and started' : 'not started'}`,
      removes: true,
      act: (hands, web) =>
        hands.copy(web, async (create) => {
          await hands.remove(web.id);
          const id = await create(how === 'as it was' ? undefined : hands.newImageId);
          if (isStarted) await hands.start(id);
        }),
      // A copy with the labels of an unproven successor cannot be distinguished from it.
      wrong: (scene) =>
        scene.progress === 'parked' || scene.progress === 'committed' ? [] : unlike(scene, scene.name),
    })),
  ),
  {
    name: 'pruned',
    removes: true,
    act: (hands) => hands.prune().then(() => undefined),
    wrong: (scene) => {
      // A container that the engine itself left stopped after a crash does not count.
      const ran = named(scene.done, scene.name)?.running === true;
      return scene.progress !== 'returning' && ran && holder(scene)?.running !== true
        ? [`${tell(scene)}, and ran`]
        : [];
    },
  },
  ...(['the old', 'the new'] as const).map((which): Story => ({
    name: `taken down and up by compose with ${which} image`,
    removes: true,
    act: (hands, web, all) =>
      hands.fromFile(async (create) => {
        for (const { id, name } of all)
          if (name === web.name || name.startsWith(`${web.name}.`)) await hands.remove(id);
        await hands.start(await create(which === 'the old' ? hands.oldImageId : hands.newImageId));
      }),
    wrong: (scene) => unlike(scene, scene.name),
  })),
  {
    name: 'replaced by another updater',
    removes: true,
    act: (hands, web) =>
      hands.copy(web, async (create) => {
        await hands.stop(web.id);
        await hands.remove(web.id);
        await hands.start(await create(hands.newImageId));
      }),
    wrong: (scene) => {
      if (isCertain(scene)) return unlike(scene, scene.name);
      const ran = named(scene.done, scene.name)?.running === true;
      return ran && holder(scene)?.running !== true ? [`${tell(scene)}, and ran`] : [];
    },
  },
];

/** Errors in any story. `report`: output of the next start. */
export function wrongInAnyCase({ done, now, name, oldId }: AfterStory, report: string): string[] {
  const faults: string[] = [];
  const family = (all: readonly Resident[]) => all.filter((one) => rootOf(one.name) === name);
  const runs = family(now).filter(({ running }) => running);
  if (runs.length > 1) faults.push(`${runs.map((one) => `"${one.name}"`).join(' and ')} run`);
  // A prune may take a stopped container and its successor, and leave the helper that runs.
  const isHelper = (one: Resident) => /\.upkeep-(?:measure|save|restore)$/.test(one.name);
  if (!family(done).every(isHelper) && family(now).length === 0) faults.push('nothing of it is left');
  // An update with data that waits for a person is told with the command that ends it, and keeps its helpers until then.
  const waits = report.includes(`upkeep recover ${name}`);
  for (const one of family(now)) {
    if (one.name === name || one.name.includes('.upkeep-kept-') || !one.name.includes('.upkeep-')) continue;
    const isTold = isHelper(one) ? waits : one.id === oldId && (waits || /left/i.test(report));
    if (!isTold) faults.push(`"${one.name}" is left over, and not told of`);
  }
  return faults;
}

/** The container and its state must be the same as after the act. */
function unlike({ done, now }: AfterStory, name: string): string[] {
  const [wanted, is] = [named(done, name), named(now, name)];
  if (wanted === undefined) return [];
  const described = (one: Resident) =>
    `${one.id.slice(0, 12)} ${one.running ? 'running' : 'not running'} "${one.policy}"`;
  if (is === undefined) return [`"${name}" is gone`];
  return described(is) === described(wanted) ? [] : [`"${name}" is ${described(is)} instead of ${described(wanted)}`];
}

function rootOf(name: string): string {
  return name.replace(/\.upkeep-.*|-renamed$/, '');
}

const named = (all: readonly Resident[], name: string) => all.find((one) => one.name === name);
const holder = ({ now, name }: AfterStory) => named(now, name);

function tell(scene: AfterStory): string {
  const now = holder(scene);
  return now === undefined ? `"${scene.name}" is gone` : `"${scene.name}" is ${now.status}, "${now.policy}"`;
}
