import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LabEngine } from '../../../lab/engine/engine.ts';
import type { FaultRule } from '../../../lab/proxy/fault-proxy.ts';
import type { Lab } from '../../../lab/lab.ts';
import { faultsAfter, lookBefore } from '../inspection.ts';
import type { Shape } from '../shapes.ts';
import { type Circumstances, type Run, setStage, type Stage } from '../stage.ts';

/** Offset of the service's clock from the engine's, and its time; in libfaketime's format, `+10y`. */
export type ClockPoint = { readonly name: string; readonly offset: string; readonly in: keyof typeof moments };

const offsets = [
  ['an hour ahead', '+1h'],
  ['an hour behind', '-1h'],
  ['ten years ahead', '+10y'],
  ['ten years behind', '-10y'],
] as const;

/** By the names of `--point`. */
export const clockPoints: readonly ClockPoint[] = (
  ['all of the update', 'the health check', 'the next start', 'a start elsewhere'] as const
).flatMap((during) => offsets.map(([which, offset]) => ({ name: `${which} in ${during}`, offset, in: during })));

/** Errors after one more start, with the output; empty if none. */
export async function meetClock(
  lab: Lab,
  engine: LabEngine,
  { shape, point, library }: { readonly shape: Shape; readonly point: ClockPoint; readonly library: string },
): Promise<readonly string[]> {
  const stage = await setStage(lab, engine, shape);
  const before = await lookBefore(stage, shape);
  const { runs, faults } = await moments[point.in](stage, shape, { offset: point.offset, library });
  const last = await stage.startAgain();
  const all = [...faults, ...(point.in === 'a start elsewhere' ? [] : await faultsAfter(stage, shape, before))];
  const { changes } = await stage.startAgain();
  if (changes.length > 0) all.push(`a second start still had to repair: ${changes.map(({ path }) => path).join(', ')}`);
  return all.length === 0 ? [] : [...all, ...[...runs, last].map(({ output }) => output)];
}

type Clock = { readonly offset: string; readonly library: string };

type Met = { readonly runs: readonly Run[]; readonly faults: readonly string[] };

const moments = {
  'all of the update': async (stage: Stage, shape: Shape, { offset, library }: Clock): Promise<Met> => {
    const run = await stage.run(['run', '--run-once'], { env: clock(library, { FAKETIME: offset }) });
    return { runs: [run], faults: [...untruths(shape, run), ...tellsTime(run, offset)] };
  },
  'the health check': async (stage: Stage, shape: Shape, { offset, library }: Clock): Promise<Met> => {
    const file = join(mkdtempSync(join(stage.engine.dir, 't-')), 'time');
    writeFileSync(file, '+0\n');
    const run = await stage.run(['run', '--run-once', ...longEnough], {
      env: clock(library, { FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1' }),
      rules: () => [whileProving(() => writeFileSync(file, `${offset}\n`))],
    });
    return { runs: [run], faults: [...untruths(shape, run), ...tellsTime(run, offset)] };
  },
  'the next start': async (stage: Stage, _shape: Shape, { offset, library }: Clock): Promise<Met> => {
    const killed = await stage.run(['update'], diesOnceStopped);
    const next = await stage.run(['update', 'no-such-container'], { env: clock(library, { FAKETIME: offset }) });
    const isRepaired = killed.code === null && next.changes.length > 0;
    return {
      runs: [killed, next],
      faults: [...(isRepaired ? [] : ['nothing was repaired']), ...tellsTime(next, offset)],
    };
  },
  /** Whether the owner lives is unknown. The update is young by the engine's clock, which decides. */
  'a start elsewhere': async (stage: Stage, _shape: Shape, { offset, library }: Clock): Promise<Met> => {
    const killed = await stage.run(['update'], {
      ...diesOnceStopped,
      within: ['unshare', '--pid', '--fork', '--kill-child'],
    });
    const next = await stage.run(['update', 'no-such-container'], { env: clock(library, { FAKETIME: offset }) });
    const isLeft = next.changes.length === 0 && next.output.includes('may be updating it; it is taken over in');
    const faults = isLeft ? [] : ['an update that may be under way was not left alone'];
    return { runs: [killed, next], faults: [...faults, ...tellsTime(next, offset)] };
  },
};

const diesOnceStopped: Circumstances = {
  rules: (kill) => [
    {
      at: ({ path, change }) => change !== undefined && path.includes('/stop'),
      fault: { kind: 'kill', when: 'after', kill },
    },
  ],
};

/** Keeps the health check running when the clock is set, also on a busy machine. */
const longEnough = ['--health-window', '5s'];

/** Applies to the first request for events after the start: the health check follows them. */
function whileProving(act: () => void): FaultRule {
  let isStarted = false;
  return {
    at: ({ change, path }) => {
      if (change !== undefined && path.includes('/start')) isStarted = true;
      return isStarted && path.includes('/events?');
    },
    fault: { kind: 'meanwhile', when: 'before', act: () => Promise.resolve(act()) },
  };
}

/** The monotonic clock continues, as after a change of the wall clock. */
function clock(library: string, how: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return { LD_PRELOAD: library, DONT_FAKE_MONOTONIC: '1', ...how };
}

/** Words of a log line; a line about an outcome has all of them. */
type Line = {
  readonly time: string;
  readonly name?: string;
  readonly outcome?: string;
  readonly reason?: string;
  readonly downtime_ms?: number;
};

function readLog({ output }: Run): readonly Line[] {
  return output.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : []));
}

/** A wrong clock must not change the outcome and the messages. */
function untruths(shape: Shape, run: Run): readonly string[] {
  if (run.code === null) return ['it did not end by itself'];
  const expected = shape.good ? 'updated' : 'rolled_back';
  const told = readLog(run).filter(({ outcome }) => outcome !== undefined);
  const wrong = told.filter(({ outcome }) => outcome !== expected);
  const faults = wrong.map(({ name, outcome, reason }) => `it says ${outcome} of "${name}": ${reason}`);
  if (told.length !== Object.keys(shape.containers).length) faults.push(`it tells of ${told.length} containers`);
  for (const { name, downtime_ms: downtimeMs = -1 } of told)
    if (downtimeMs < 0 || downtimeMs > 120_000) faults.push(`it says that "${name}" was down for ${downtimeMs} ms`);
  return faults;
}

/** Otherwise nothing was tested. */
function tellsTime(run: Run, offset: string): readonly string[] {
  const [, count = '', unit = ''] = /^([+-]\d+)([hy])$/.exec(offset) ?? [];
  const expectedMs = Date.now() + Number(count) * (unit === 'h' ? 3_600_000 : 365 * 86_400_000);
  const { time = '' } = readLog(run).at(-1) ?? {};
  return Math.abs(Date.parse(time) - expectedMs) < 600_000 ? [] : [`its clock was not set: it said "${time}"`];
}
