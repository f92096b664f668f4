import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { LabEngine } from '../../lab/engine/engine.ts';
import { prune } from '../../lab/engine/prune.ts';
import type { Fault, Moment } from '../../lab/proxy/fault-proxy.ts';
import type { Updater } from './stage.ts';

/** An incident at a call. */
export type Incident = {
  readonly name: string;
  readonly fault: (scene: IncidentScene) => Fault;
  /** It removes the way back, so that a bad version may have to stay. */
  readonly needsGoodVersion?: boolean;
  /** After the end of the updater: removes the obstacles to the next start. */
  readonly desiredEndState?: (engine: LabEngine) => Promise<void> | void;
};

export type IncidentScene = {
  readonly engine: LabEngine;
  /** Ends the updater. */
  readonly kill: () => void;
  /** Must be complete before the inspection: the engine's next start. */
  readonly restart: (work: Promise<unknown>) => void;
};

export type Campaign = {
  readonly title: string;
  readonly incidents: readonly Incident[];
  readonly engineArgs?: readonly string[];
  /** Size of the disk of the engine. */
  readonly dataMiB?: number;
  /**
   * Other programs remove containers: only for shapes without stopped containers, which a prune removes. After a prune,
   * a group stays on a bad version.
   */
  readonly isMeddledWith?: boolean;
  /**
   * A stopped container that is not part of a transaction stays down after a crash of the engine, with or without
   * Upkeep.
   */
  readonly engineDies?: boolean;
  /** Each next start is killed as well, at each of its own calls. */
  readonly nested?: boolean;
  /** Shapes by their names; default all. */
  readonly shapes?: readonly string[];
  readonly updater?: Updater;
};

const moments: readonly Moment[] = ['before', 'during', 'after'];

/** The updater dies: `before` the engine receives the call, `during` its work on it, or `after` its answer. */
const deaths: readonly Incident[] = moments.map((when) => ({
  name: `killed ${when}`,
  fault: ({ kill }) => ({ kind: 'kill', when, kill }),
}));

function engineDeaths(how: string, die: (engine: LabEngine) => Promise<void>): readonly Incident[] {
  return moments.map((when) => ({
    name: `${how} ${when}`,
    fault: ({ engine, restart }) => ({
      kind: 'kill',
      when,
      kill: () => restart(die(engine).then(() => engine.start())),
    }),
  }));
}

function thirdParty(name: string, act: (engine: LabEngine) => Promise<unknown>): Incident {
  return { name, fault: ({ engine }) => ({ kind: 'meanwhile', when: 'before', act: () => act(engine) }) };
}

/** By the letter of `npm run test:faults -- --campaign`. */
export const campaigns: Readonly<Record<string, Campaign>> = {
  A: { title: 'The updater is killed', incidents: deaths },
  B: {
    title: 'A call or its answer goes wrong',
    incidents: [
      ...moments.map((when): Incident => ({ name: `reset ${when}`, fault: () => ({ kind: 'reset', when }) })),
      ...[404, 409, 500].map((status): Incident => ({
        name: `answered ${status}`,
        fault: () => ({ kind: 'answer', when: 'before', status }),
      })),
      { name: 'sent twice', fault: () => ({ kind: 'duplicate' }) },
    ],
  },
  C: {
    title: 'dockerd is killed',
    incidents: engineDeaths('engine killed', (engine) => engine.kill()),
    engineDies: true,
  },
  D: {
    title: 'dockerd is killed, with live-restore',
    incidents: engineDeaths('engine killed', (engine) => engine.kill()),
    engineArgs: ['--live-restore'],
    engineDies: true,
  },
  E: {
    title: 'The power is cut',
    incidents: engineDeaths('power cut', (engine) => engine.powerCut()),
    engineDies: true,
  },
  F: { title: 'The updater is killed, and each next start too', incidents: deaths.slice(2), nested: true },
  I: {
    title: 'The disk fills up',
    incidents: [
      {
        name: 'full from then on',
        fault: ({ engine }) => ({ kind: 'meanwhile', when: 'before', act: async () => fillDisk(engine) }),
        desiredEndState: emptyDisk,
      },
    ],
    dataMiB: 64,
  },
  J: {
    title: 'Someone else interferes',
    incidents: [
      thirdParty('stopped containers pruned', (engine) => prune(engine, 'containers')),
      thirdParty('unused networks pruned', (engine) => prune(engine, 'networks')),
      thirdParty('everything unused pruned', (engine) => prune(engine, 'containers', 'networks', 'images')),
      {
        ...thirdParty('the old container removed', (engine) => removeLike(engine, /\.upkeep-(?:old|drop)/)),
        needsGoodVersion: true,
      },
      thirdParty('the new container removed', (engine) => removeLike(engine, /\.upkeep-new/)),
      thirdParty('unused images pruned', (engine) => prune(engine, 'images')),
    ],
    isMeddledWith: true,
  },
  Q: { title: 'The updater is killed while it copies data', incidents: deaths },
  'Q-nested': {
    title: 'The updater is killed while it copies data, and each next start too',
    incidents: deaths.slice(2),
    nested: true,
  },
  'Q-engine': {
    title: 'dockerd is killed while data are copied',
    incidents: engineDeaths('engine killed', (engine) => engine.kill()),
    engineDies: true,
  },
  'Q-live-restore': {
    title: 'dockerd is killed while data are copied, with live-restore',
    incidents: engineDeaths('engine killed', (engine) => engine.kill()),
    engineArgs: ['--live-restore'],
    engineDies: true,
  },
  'Q-power': {
    title: 'The power is cut while data are copied',
    incidents: engineDeaths('power cut', (engine) => engine.powerCut()),
    engineDies: true,
  },
  Z: {
    title: 'For comparison, an updater that stops, removes, creates and starts is killed',
    incidents: deaths,
    shapes: ['a published port, unless-stopped', 'host network', 'without a policy, the new version cannot start'],
    updater: 'removing',
  },
};

async function removeLike(engine: LabEngine, name: RegExp): Promise<void> {
  const { body } = await engine.call('GET', '/containers/json?all=1');
  for (const { Id, Names } of body as { Id: string; Names: readonly string[] }[])
    if (Names.some((each) => name.test(each))) await engine.call('DELETE', `/containers/${Id}?force=1`);
}

const filler = (engine: LabEngine): string => join(engine.dir, 'data/filler');

function fillDisk(engine: LabEngine): void {
  try {
    execFileSync('dd', ['if=/dev/zero', `of=${filler(engine)}`, 'bs=4k'], { stdio: 'ignore' });
  } catch {
    // The process ends when the disk is full.
  }
}

function emptyDisk(engine: LabEngine): void {
  execFileSync('rm', ['-f', filler(engine)]);
}
