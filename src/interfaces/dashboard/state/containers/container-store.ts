import type { WatchedContainer } from '../documents/container.ts';
import { isOfCheck, type StreamEvent, percentOf } from '../documents/events.ts';
import { nameIn, textOf } from '../documents/reading.ts';
import { noStatus, type Status, tasksIn } from '../documents/status.ts';
import { checked, duringUpdate, failed, updated } from './container-changes.ts';
import { enterPhase, phaseNamed, type UpdateProgress, waiting } from './update-progress.ts';

/** The page's data about containers: read at first, changed by events, and read again at times. */
export type ContainerStore = {
  readonly all: () => readonly WatchedContainer[];
  readonly named: (name: string) => WatchedContainer | undefined;
  readonly updateOf: (name: string) => UpdateProgress | undefined;
  /** Names of the containers in the run under way, in the order of their events. Empty without a run. */
  readonly inRun: () => readonly string[];
  readonly isRunning: () => boolean;
  /** Whether the run under way is a rollback that a person has requested. */
  readonly isRollback: () => boolean;
  readonly status: () => Status;
  /** Applies documents. Returns the names of changed containers. */
  readonly take: (containers: readonly WatchedContainer[], status: Status | undefined, nowMs: number) => StoreChanges;
  /** Applies an event. Returns the names of changed containers. */
  readonly hear: (event: StreamEvent, nowMs: number) => readonly string[];
  /** Notes that an update, or a rollback, was requested. */
  readonly ask: (names: readonly string[], rollback?: 'rollback') => void;
  /** Notes that the request was refused: containers without a step no longer wait. */
  readonly withdraw: (names: readonly string[]) => void;
};

export type StoreChanges = {
  readonly changed: readonly string[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
};

export function createContainerStore(): ContainerStore {
  const containers = new Map<string, WatchedContainer>();
  const underWay = new Map<string, UpdateProgress>();
  const names = new Set<string>();
  let status = noStatus;
  let isRunning = false;
  let isRollback = false;

  function begin(name: string): UpdateProgress {
    isRunning = true;
    if (containers.has(name)) names.add(name);
    const known = underWay.get(name) ?? waiting;
    underWay.set(name, known);
    return known;
  }

  function end(): readonly string[] {
    const ended = [...underWay.keys()];
    underWay.clear();
    names.clear();
    isRunning = false;
    isRollback = false;
    return ended;
  }

  function change(name: string, make: (one: WatchedContainer) => WatchedContainer): readonly string[] {
    const one = containers.get(name);
    if (one === undefined) return [];
    containers.set(name, make(one));
    return [name];
  }

  /** Whether an update of the container runs, by its events and a newer status. The status may show an end without an event. */
  function isUnderWay(name: string, newer: Status | undefined): boolean {
    if (!underWay.has(name)) return false;
    if (newer?.run === undefined) return newer === undefined || newer.running;
    return newer.run.containers.some((one) => one.name === name && phaseNamed(one.phase) !== undefined);
  }

  /** Applies the run of a status, if its begin or end had no event. */
  function takeRun({ run, running }: Status, nowMs: number): readonly string[] {
    if (run === undefined) return running ? [] : end();
    isRollback ||= run.isRollback;
    const touched: string[] = [];
    for (const { name, phase: word, percent, tasks } of run.containers) {
      const phase = phaseNamed(word);
      if (phase === undefined) {
        // The container's update has ended, but the run continues.
        isRunning = true;
        if (containers.has(name)) names.add(name);
        if (underWay.delete(name)) touched.push(name);
        continue;
      }
      const before = begin(name);
      const next = {
        ...enterPhase(before, phase, nowMs),
        ...(phase === 'pulling' && { percent: percent ?? before.percent }),
        tasks,
      };
      if (JSON.stringify(next) === JSON.stringify(before) && phase !== 'waiting') continue;
      underWay.set(name, next);
      touched.push(name);
    }
    return touched;
  }

  return {
    all: () => [...containers.values()],
    named: (name) => containers.get(name),
    updateOf: (name) => underWay.get(name),
    inRun: () => [...names],
    isRunning: () => isRunning,
    isRollback: () => isRollback,
    status: () => status,
    take(read, newStatus, nowMs) {
      const changed = new Set<string>();
      const added: string[] = [];
      const missing = new Set(containers.keys());
      for (const one of read) {
        missing.delete(one.name);
        const before = containers.get(one.name);
        const isMoving = before !== undefined && isUnderWay(one.name, newStatus);
        const now = isMoving ? duringUpdate(before, one) : one;
        containers.set(one.name, now);
        if (before === undefined) added.push(one.name);
        else if (JSON.stringify(before) !== JSON.stringify(now)) changed.add(one.name);
      }
      for (const name of missing) {
        // During its update a container may briefly be missing from the list.
        if (underWay.has(name)) missing.delete(name);
        else containers.delete(name);
      }
      if (newStatus !== undefined) {
        for (const name of takeRun(newStatus, nowMs)) changed.add(name);
        status = newStatus;
      }
      return { changed: [...changed].filter((name) => containers.has(name)), added, removed: [...missing] };
    },
    hear({ kind, data, atMs }, nowMs) {
      const name = nameIn(data);
      const at = atMs ?? nowMs;
      switch (kind) {
        case 'update_started':
          isRollback = data['rollback'] === true;
          underWay.set(name, enterPhase(begin(name), 'pulling', nowMs));
          return [name];
        case 'phase_entered': {
          const phase = phaseNamed(textOf(data['phase']));
          if (phase === undefined) return [];
          underWay.set(name, { ...enterPhase(begin(name), phase, nowMs), tasks: tasksIn(data) });
          return [name];
        }
        case 'pull_progress':
          underWay.set(name, { ...begin(name), phase: 'pulling', percent: percentOf(data) });
          return [name];
        case 'update_completed':
          underWay.delete(name);
          // The events do not tell the version that came back.
          return change(name, (one) => (isRollback ? one : updated(one, data, at)));
        case 'update_failed':
          underWay.delete(name);
          return change(name, (one) => failed(one, data, at));
        case 'update_deferred':
          underWay.delete(name);
          return containers.has(name) ? [name] : [];
        case 'container_checked':
          return change(name, (one) => checked(one, data, at));
        case 'scan_completed':
        case 'scan_failed':
          return isOfCheck(data) ? [] : end();
        default:
          return [];
      }
    },
    ask(asked, rollback) {
      isRollback = rollback !== undefined;
      for (const name of asked) begin(name);
    },
    withdraw(refused) {
      for (const name of refused) {
        if (underWay.get(name)?.phase !== 'waiting') continue;
        underWay.delete(name);
        names.delete(name);
      }
      if (underWay.size === 0) end();
    },
  };
}
