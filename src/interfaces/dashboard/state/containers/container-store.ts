import { readVerdict, type WatchedContainer } from '../documents/container.ts';
import {
  isOfCheck,
  percentOf,
  noStatus,
  tasksIn,
  type StreamEvent,
  type Status,
  type Tasks,
} from '../documents/status.ts';
import { nameIn, textOf, numberOf, type Json } from '../documents/reading.ts';

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
  readonly onEvent: (event: StreamEvent, nowMs: number) => readonly string[];
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
        ...((phase === 'pulling' || (copies.has(phase) && before.phase === phase)) && {
          percent: percent ?? before.percent,
        }),
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
    onEvent({ kind, data, atMs }, nowMs) {
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
          const percent = copies.has(phase) ? percentOf(data) : undefined;
          const entered = enterPhase(begin(name), phase, nowMs);
          underWay.set(name, { ...entered, ...(percent !== undefined && { percent }), tasks: tasksIn(data) });
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

/** A container after `container_checked`. Fields that the event does not have stay until the details are read. */
function checked(one: WatchedContainer, data: Json, atMs: number): WatchedContainer {
  const now = readVerdict(data);
  const { verdict, hold, reason, eligibleAtMs, retryAtMs, version, candidateDigest } = now;
  if (verdict === undefined) return one;
  // A failed check tells nothing about versions.
  if (verdict === 'unknown') return { ...one, verdict, hold, reason: reason || one.reason, eligibleAtMs, retryAtMs };
  const decision = one.decision?.digest === candidateDigest ? one.decision : undefined;
  return { ...one, ...now, version: version || one.version, decision, checkedAtMs: atMs };
}

/**
 * A container during its update. The list may briefly omit it, and then contain its unchecked successor. The row keeps
 * showing both versions.
 */
function duringUpdate(before: WatchedContainer, listed: WatchedContainer): WatchedContainer {
  if (listed.status === '') return before;
  if (listed.id === before.id) return listed;
  const { status, health, startedAtMs } = listed;
  return { ...before, status, health, startedAtMs };
}

/** A container after `update_completed`, until the details are read. */
function updated(one: WatchedContainer, data: Json, atMs: number): WatchedContainer {
  const to = one.latestVersion || one.version;
  return {
    ...one,
    version: to,
    latestVersion: '',
    digest: one.latestDigest || one.digest,
    latestDigest: '',
    candidate: '',
    candidateDigest: '',
    decision: undefined,
    change: undefined,
    verdict: 'fresh',
    hold: '',
    startedAtMs: atMs,
    checkedAtMs: atMs,
    last: { ...outcome(one, data, atMs), outcome: 'updated', to },
  };
}

/** The same after `update_failed`. */
function failed(one: WatchedContainer, data: Json, atMs: number): WatchedContainer {
  const kind = data['rolled_back'] === true ? 'rolled_back' : 'failed';
  return { ...one, verdict: 'held', hold: 'failed', last: { ...outcome(one, data, atMs), outcome: kind } };
}

function outcome({ name, version, latestVersion }: WatchedContainer, data: Json, atMs: number) {
  return {
    name,
    atMs,
    from: version,
    to: latestVersion,
    reason: textOf(data['error']),
    downtimeMs: numberOf(data['downtime_ms']),
    phasesMs: {},
    log: textOf(data['log']),
    dataBytes: undefined,
  };
}

/** An update of one container while it is under way. */
export type UpdateProgress = {
  readonly phase: Phase;
  /** The percentage of the pull, or of the copied data. */
  readonly percent: number | undefined;
  /** Task counts of a service of a swarm. */
  readonly tasks: Tasks | undefined;
  /** The step that failed; undefined unless it is being rolled back. */
  readonly failedIn: Phase | undefined;
  readonly stoppedAtMs: number | undefined;
  /** The downtime, once it runs again. */
  readonly downMs: number | undefined;
};

export const phases = [
  'waiting',
  'pulling',
  'preparing',
  'stopping',
  'saving data',
  'starting',
  'checking health',
  'committing',
  'rolling back',
  'restoring data',
] as const;
type Phase = (typeof phases)[number];

const copies: ReadonlySet<Phase> = new Set<Phase>(['saving data', 'restoring data']);

export const waiting: UpdateProgress = {
  phase: 'waiting',
  percent: undefined,
  tasks: undefined,
  failedIn: undefined,
  stoppedAtMs: undefined,
  downMs: undefined,
};

/** Whether it has no process, or a stopping one. */
export function isDown({ phase, stoppedAtMs }: UpdateProgress): boolean {
  return stoppedAtMs !== undefined && phase !== 'checking health' && phase !== 'committing';
}

/** The same update in its next phase. `nowMs` is its begin, from which the downtime is counted. */
function enterPhase(before: UpdateProgress, phase: Phase, nowMs: number): UpdateProgress {
  if (phase === before.phase) return before;
  const stoppedAtMs = phase === 'stopping' ? nowMs : before.stoppedAtMs;
  const isUpAgain = isDown(before) && (phase === 'checking health' || phase === 'committing');
  return {
    phase,
    percent: phase === 'pulling' ? 0 : undefined,
    tasks: undefined,
    failedIn: phase === 'rolling back' ? before.phase : phase === 'restoring data' ? before.failedIn : undefined,
    stoppedAtMs,
    downMs: isUpAgain && stoppedAtMs !== undefined ? nowMs - stoppedAtMs : before.downMs,
  };
}

function phaseNamed(text: string): Phase | undefined {
  const name = text.replaceAll('_', ' ');
  return phases.find((phase) => phase === name);
}
