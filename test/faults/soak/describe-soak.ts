import { expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { engineTeam } from '../rig/engine-team.ts';
import { random } from '../rig/random.ts';
import { type Fleet, launchFleet } from './fleet.ts';
import { type FirstLook, lookFirst, wrongInFleet } from './inspection.ts';
import { updateRoughly } from './rough-lives.ts';
import { countDescriptors, startService, type Weight } from './service.ts';

export type SoakScope = {
  /** Number of containers. */
  readonly count: number;
  readonly seed: number;
  /** Runs only tests with one of these words in their name. */
  readonly words: readonly string[];
  readonly reportFile?: string | undefined;
};

/** Campaign L: updates many containers over several releases, first undisturbed, then with repeated kills. */
export function describeSoak({ count, seed, words, reportFile }: SoakScope): void {
  const title = 'A soak: one release after the other';
  describeInLab(`L: ${title}`, (lab) => {
    const team = engineTeam(lab, { letter: 'L', title, count: 1, engineDies: true, reportFile });
    let launched: Promise<Soaked> | undefined;
    /** Both tests use the same containers, so that small changes add up and are visible at the end. */
    const launchOnce = () =>
      (launched ??= (async () => {
        const [engine] = team.engines;
        if (engine === undefined) throw new Error('Cannot launch a fleet: there is no engine');
        const fleet = await launchFleet(lab, engine, count);
        return { fleet, first: await lookFirst(fleet, fleet.first) };
      })());
    const isWanted = (name: string) => words.some((each) => name.includes(each));

    const quiet = 'all releases in one life of the service';
    test.runIf(isWanted(quiet))(quiet, { timeout }, async () => {
      const { faults, wrong, weights } = await soakQuietly(await launchOnce());
      team.note({ shape: quiet, points: quietReleases * count, lost: wrong.size, byEngine: 0 });
      console.log(`RESULT ${weights.map((weight, index) => tell(weight, (index + 1) * count)).join('; ')}`);
      expect([...faults, ...wrong, ...growth(weights)]).toEqual([]);
    });

    const rough = 'the service is killed again and again, and so is the engine';
    test.runIf(isWanted(rough))(rough, { timeout }, async () => {
      const { fleet, first } = await launchOnce();
      const below = random(seed);
      const wrong: string[] = [];
      const lost = new Set<string>();
      let [deaths, engineDeaths, byEngine] = [0, 0, 0];
      for (let round = 0; round < roughReleases; round += 1) {
        const release = await fleet.release();
        const result = await updateRoughly(fleet, release, below);
        deaths += result.deaths;
        engineDeaths += result.engineDeaths;
        byEngine += result.byEngine;
        for (const [name, faults] of await wrongInFleet(fleet, first, release)) {
          lost.add(name);
          wrong.push(`${name}: ${faults.join('; ')}`, ...result.log.filter((line) => line.includes(`"${name}"`)));
        }
      }
      team.note({ shape: rough, points: roughReleases * count, lost: lost.size, byEngine });
      console.log(`RESULT the service was killed ${deaths} times, the engine ${engineDeaths} times (--seed ${seed})`);
      expect(wrong).toEqual([]);
      expect(deaths).toBeGreaterThan(roughReleases);
    });
  });
}

const timeout = 4 * 3_600_000;
const quietReleases = 3;
const roughReleases = 2;

type Soaked = { readonly fleet: Fleet; readonly first: FirstLook };

type Measured = Weight & { readonly engineDescriptors: number };

async function soakQuietly({ fleet, first }: Soaked) {
  const service = startService(fleet.engine);
  const weights: Measured[] = [];
  const faults: string[] = [];
  const wrong = new Map<string, readonly string[]>();
  try {
    for (let round = 0; round < quietReleases; round += 1) {
      const release = await fleet.release();
      const { status, others } = await service.update();
      if (status !== 200) faults.push(`the update was answered with ${status}`);
      faults.push(...others);
      for (const [name, each] of await wrongInFleet(fleet, first, release)) wrong.set(name, each);
      weights.push({ ...(await service.weigh()), engineDescriptors: countDescriptors(fleet.engine.pid()) });
    }
  } finally {
    const code = await service.stop();
    if (code !== 0) faults.push(`it ended with ${code}`);
  }
  return { faults, wrong, weights };
}

/** Values that grew more than allowed from the first release to the last. */
function growth(weights: readonly Measured[]): readonly string[] {
  const [first, last] = [weights[0], weights.at(-1)];
  return (Object.entries(maxGrowth) as [keyof Measured, number][]).flatMap(([what, most]) => {
    const [was = 0, is = Infinity] = [first?.[what], last?.[what]];
    return is - was > most ? [`${what} grew from ${was} to ${is}`] : [];
  });
}

const mebi = 1024 * 1024;

/**
 * With 200 containers the live heap grows by 2 MiB at most from the first release to the third: the
 * last 1,000 events are kept, and more code is compiled. A leak of 8 kB in each of 400 updates is 3 MiB.
 */
const maxGrowth: Readonly<Record<keyof Measured, number>> = {
  heapBytes: 3 * mebi,
  residentBytes: 20 * mebi,
  descriptors: 2,
  engineDescriptors: 20,
};

function tell({ heapBytes, residentBytes, descriptors, engineDescriptors }: Measured, updates: number): string {
  const mib = (bytes: number) => `${(bytes / mebi).toFixed(1)} MiB`;
  const open = `${descriptors} descriptors, ${engineDescriptors} in the engine`;
  return `after ${updates} updates ${mib(residentBytes)}, ${mib(heapBytes)} of it live heap, ${open}`;
}
