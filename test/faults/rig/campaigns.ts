import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { EngineOptions, LabEngine } from '../../lab/engine/engine.ts';
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
  /** A power cut loses the page cache. */
  readonly disk?: EngineOptions['disk'];
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
  /** The updater or its helper lacks what prevents losses, so there must be some. */
  readonly losesData?: boolean;
  /** Only at calls with this text. */
  readonly at?: RegExp;
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

/** Only of campaign Z-sync. */
export const shapeWithoutSync = 'data: three places, a helper that syncs nothing, a bad version';

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
  'Q-cache': {
    title: 'The power is cut while data are copied, and the page cache is lost',
    incidents: engineDeaths('power cut', (engine) => engine.powerCut()),
    engineDies: true,
    disk: 'one',
  },
  'Q-cache-apart': {
    title: 'The power is cut while data are copied to a second disk, and the page cache is lost',
    incidents: engineDeaths('power cut', (engine) => engine.powerCut()),
    engineDies: true,
    disk: 'apart',
  },
  'Z-sync': {
    title: 'For comparison, a helper that syncs nothing: the power is cut, and the page cache is lost',
    incidents: engineDeaths('power cut', (engine) => engine.powerCut()).slice(2),
    engineDies: true,
    disk: 'apart',
    shapes: [shapeWithoutSync],
    losesData: true,
    // The old container has its name again, so its data are never restored again.
    at: /\/rename\?name=web$/,
  },
  Z: {
    title: 'For comparison, an updater that stops, removes, creates and starts is killed',
    incidents: deaths,
    shapes: ['a published port, unless-stopped', 'host network', 'without a policy, the new version cannot start'],
    updater: 'removing',
    losesData: true,
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
