import { imageIdOf } from '../../lab/engine/image-id.ts';
import type { Before } from './inspection.ts';
import type { Shape } from './shapes.ts';
import type { Run, Stage } from './stage.ts';

/** An updater's report of a container. */
export type Saying = { readonly name: string; readonly outcome: string; readonly reason: string };

/** Either format; the porcelain one has `state` and `error` in place of `outcome` and `reason`. */
export function readReport({ stdout }: Pick<Run, 'stdout'>): readonly Saying[] | undefined {
  try {
    const { containers } = JSON.parse(stdout) as { readonly containers: readonly Partial<Record<string, string>>[] };
    return containers.map(({ name = '', outcome, state = '', reason, error = '' }) => ({
      name,
      outcome: outcome ?? state.toLowerCase(),
      reason: reason ?? error,
    }));
  } catch {
    return undefined;
  }
}

export function saysUpdated({ outcome }: Saying): boolean {
  return outcome === 'updated' || outcome === 'restarted';
}

/**
 * Differences between a report and the actual state afterwards. A killed process has no report. `mayBeDown`: the engine
 * itself was killed since.
 */
export async function untruthsOf(
  { engine, versions }: Stage,
  shape: Shape,
  before: Before,
  { run, mayBeDown }: { readonly run: Run; readonly mayBeDown: boolean },
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const saying of readReport(run) ?? []) {
    const { name, outcome, reason } = saying;
    const now = await engine.inspect(name);
    const lie = (what: string): void => void faults.push(`it says ${outcome} of "${name}" (${reason}), ${what}`);
    const expected = expectationOf(saying);
    if (expected === 'anything') continue;
    if (now === undefined) {
      // A starting engine removes containers with --rm.
      if (!mayBeDown || shape.selfRemoving !== true) lie('which is gone');
      continue;
    }
    if (now.Image !== imageIdOf(versions[expected])) lie(`which is not of the ${expected} version`);
    else if (expected === 'old' && now.Id !== before.containers.get(name)?.Id && !tellsOfCopy.test(reason))
      lie('which is another container');
    else if (!mayBeDown && now.State.Running !== (shape.containers[name] === 'running'))
      lie(`which is ${now.State.Status}`);
  }
  return faults;
}

function expectationOf(saying: Saying): 'next' | 'old' | 'anything' {
  if (saysUpdated(saying)) return 'next';
  if (saying.outcome !== 'failed') return saying.outcome === 'unknown' ? 'anything' : 'old';
  if (/so the new version stays(?:; the copy of its data stays too: upkeep data list)?$/.test(saying.reason))
    return 'next';
  return leavesItOpen.test(saying.reason) ? 'anything' : 'old';
}

/** Report about a copy, for a container with `--rm` or a pruned one. */
const tellsOfCopy = /runs again as a copy without --rm|was created again with the same settings/;

const leavesItOpen = /is not back yet, the next run or start of Upkeep tries again$|so it must be created again$/;

/** False reports of a start about an interrupted update. */
export async function untruthsOfRepair({ engine, versions }: Stage, { output }: Run): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const [line, verb, names = ''] of output.matchAll(repaired))
    for (const name of names.split(', ')) {
      const version = verb === 'Finished' ? 'next' : 'old';
      if ((await engine.inspect(name))?.Image !== imageIdOf(versions[version]))
        faults.push(`it says "${line}" of what is not of the ${version} version`);
    }
  return faults;
}

const repaired = /(Finished|Undid) an interrupted update of ([^:\n]+)/g;
