import {
  isToRun,
  digestIn,
  readServiceImage,
  journalLabels,
  type SwarmService,
  type SwarmTask,
  type SwarmUpdateStatus,
  type SwarmNode,
  type TaskProgress,
  taskStates,
  type ServiceUpdate,
} from '../container/swarm-service.ts';
import { formatDuration } from '../text/duration.ts';
import type { OutcomeKind } from '../run/session.ts';

/**
 * The next step of a service's update, whether this process began it or found it. The swarm's updater does the work;
 * its own report is never enough:
 * 1. The spec has the old image and not our mark: update, or report a finished rollback.
 * 2. The spec has our mark: wait for the swarm's updater, then for the proof; without a proof, roll back.
 * 3. Any other spec was set by another program or a person, and stays.
 */
export function decideService(facts: ServiceFacts, watch: ServiceWatch, limits: ServiceLimits): ServiceStep {
  const { service, update } = facts;
  if (service === undefined) return defer('The service was removed in the meantime');
  if (service.image === update.to && service.labels[journalLabels.id] === update.id) {
    return decideForward(facts, service, watch, limits);
  }
  if (service.image === update.from && isRolledBack(service, update.id, watch)) {
    return decideBack(facts, service, watch, limits);
  }
  if (!watch.isBegun && service.image === update.from) return { kind: 'update' };
  return defer('Someone else changed the service in the meantime, and that change is kept');
}

/** Whether the swarm rolled our update back. Its rollback restores the earlier labels, so the spec has no mark. */
function isRolledBack({ update, previous }: SwarmService, id: string, watch: ServiceWatch): boolean {
  if (update === undefined || !isRollback(update.state)) return false;
  return watch.isBegun || previous?.labels[journalLabels.id] === id || update.startedAtMs !== watch.beforeStartedAtMs;
}

function defer(reason: string): ServiceStep {
  return { kind: 'end', outcome: 'deferred', reason };
}

/** The next step while the spec has the new image and our mark. */
function decideForward(
  facts: ServiceFacts,
  service: SwarmService,
  watch: ServiceWatch,
  limits: ServiceLimits,
): ServiceStep {
  const { nowMs, update, tasks, nodes } = facts;
  const { wanted, running } = countTasks(service, update.to, tasks, nodes);
  const wait = { kind: 'wait', phase: 'starting', progress: { running: running.length, wanted } } as const;
  if (service.mode === 'replicated' && wanted === 0) return updated;
  if (service.update?.state === 'paused') {
    return rollBack(facts, service, faultOf(watch, `The swarm has paused its update: ${service.update.message}`));
  }
  if (service.update?.state === 'updating') {
    const fault = lostNode(facts, watch) ?? stall(facts, watch, limits.stallMs);
    return fault === undefined ? wait : rollBack(facts, service, fault);
  }
  if (watch.provenSince !== undefined && nowMs - watch.provenSince.atMs >= limits.windowMs) return updated;
  if (hasFailedAgain(watch)) {
    const reason = 'The swarm calls the update completed, but its tasks keep failing';
    return rollBack(facts, service, faultOf(watch, reason));
  }
  const settledForMs = nowMs - (watch.settledAtMs ?? nowMs);
  if (fitsNoNode(service, tasks, watch) && settledForMs >= limits.windowMs) return updated;
  if (settledForMs < limits.proofMs) return wait;
  const reason = `The swarm calls the update completed, but ${running.length} of ${wanted} tasks run`;
  return rollBack(facts, service, faultOf(watch, reason));
}

const updated: ServiceStep = { kind: 'end', outcome: 'updated', reason: '' };

/** One failure is repaired by the swarm. Two in one place are a loop. */
function hasFailedAgain({ failures }: ServiceWatch): boolean {
  const places = [...failures.values()].map(({ place }) => place);
  return new Set(places).size < places.length;
}

/** A global service without a node that fits its constraints has no task, so no task can prove its version. */
function fitsNoNode({ mode }: SwarmService, tasks: ServiceFacts['tasks'], { failures }: ServiceWatch): boolean {
  return mode === 'global' && failures.size === 0 && !tasks.some(isToRun);
}

/** A rollback is possible only while `PreviousSpec` has the image that this update replaced. */
function rollBack({ update }: ServiceFacts, service: SwarmService, fault: Fault): ServiceStep {
  if (service.previous?.image === update.from) return { kind: 'go back', ...fault };
  const reason = `${fault.reason}; it cannot be rolled back, because the service has been changed since`;
  return { kind: 'end', outcome: 'failed', reason, fault };
}

/**
 * The next step while the spec has the old image again. The old tasks prove a rollback in every state of the swarm: in a
 * pause it still starts tasks, perhaps on a node with the old image, and it waits without end for a task on a node that
 * was lost unnoticed.
 */
function decideBack(
  { update, tasks, nodes, nowMs }: ServiceFacts,
  service: SwarmService,
  watch: ServiceWatch,
  limits: ServiceLimits,
): ServiceStep {
  const { wanted, running } = countTasks(service, update.from, tasks, nodes);
  const wait = { kind: 'wait', phase: 'rolling back', progress: { running: running.length, wanted } } as const;
  const { state, message = '' } = service.update ?? {};
  const fault = faultOf(watch, message === '' ? 'The swarm has rolled the update back' : `The swarm says: ${message}`);
  const hasReturned = watch.returnedSince !== undefined && nowMs - watch.returnedSince.atMs >= limits.windowMs;
  if (hasReturned || (state === 'rollback_completed' && running.length >= wanted)) {
    return { kind: 'end', outcome: 'rolled_back', reason: fault.reason, fault };
  }
  if (state === 'rollback_paused') {
    if (nowMs - (watch.settledAtMs ?? nowMs) < limits.proofMs) return wait;
    const reason = `${fault.reason}; the rollback failed too, and the swarm has paused it`;
    return { kind: 'end', outcome: 'failed', reason, fault };
  }
  if (nowMs - (watch.backSinceMs ?? nowMs) < backMs) return wait;
  const reason = `${fault.reason}; after ${formatDuration(backMs)} ${running.length} of ${wanted} tasks run the previous version`;
  return { kind: 'end', outcome: 'failed', reason, fault };
}

/** The swarm waits a minute for a task that never ran, then pulls and starts the previous version. */
const backMs = 300_000;

/**
 * The fault of an update that failed. Without a failed task or a lost node it counts as the image's own, because the
 * swarm may keep no history of its tasks.
 */
function faultOf({ failures, lostSinceMs }: ServiceWatch, reason: string): Fault {
  const seen = [...failures.values()];
  const own = seen.findLast(({ isImagesOwn }) => isImagesOwn);
  const last = own ?? seen.at(-1);
  const isImagesOwn = own !== undefined || (seen.length === 0 && lostSinceMs === undefined);
  return { reason: last === undefined ? reason : `${reason}; a task says: ${last.words}`, isImagesOwn };
}

/**
 * A task on a node that is down. With `start-first` the swarm waits for it without end, and rolls the service back when
 * the node returns, possibly hours later.
 */
function lostNode({ update, tasks, nodes, nowMs }: ServiceFacts, { lostSinceMs }: ServiceWatch): Fault | undefined {
  if (lostSinceMs === undefined || nowMs - lostSinceMs < lostNodeMs) return undefined;
  const lost = nodes.filter(
    ({ id, state }) => state === 'down' && tasks.some(({ image, nodeId }) => image === update.to && nodeId === id),
  );
  const names = lost.map(({ hostname }) => hostname).join(', ') || 'a node';
  const reason = `A new task is on ${names}, which is down, and the swarm would wait for it forever`;
  return { reason, isImagesOwn: false };
}

/** The engine of a node restarts in less time. */
const lostNodeMs = 30_000;

/** No task has moved for `stallMs`: no node fits, or an image cannot be pulled. */
function stall({ update, tasks, nodes, nowMs }: ServiceFacts, watch: ServiceWatch, stallMs: number): Fault | undefined {
  if (nowMs - watch.movedAtMs < stallMs) return undefined;
  const waiting = tasks.findLast(({ image, state, desired }) => {
    return image === update.to && desired === 'running' && state !== 'running';
  });
  const words = waiting === undefined ? '' : `; a task says: ${describeTaskError(waiting, nodes)}`;
  const isImagesOwn = [...watch.failures.values()].some((failure) => failure.isImagesOwn);
  return { reason: `No task has moved for ${formatDuration(stallMs)}${words}`, isImagesOwn };
}

/** The combined result of the readings during an update. Times are monotonic milliseconds. */
export type ServiceWatch = {
  /** Tasks that had failed before the update. They do not count. */
  readonly before: ReadonlySet<string>;
  /** The start time of the swarm's update before ours. */
  readonly beforeStartedAtMs: number | undefined;
  /** The spec was seen with our mark, or the swarm has accepted it. */
  readonly isBegun: boolean;
  /** The time since which all wanted tasks have been running the new image, without a change of tasks. */
  readonly provenSince: { readonly atMs: number; readonly tasks: string } | undefined;
  /** The same for the old image, once the spec has it again. */
  readonly returnedSince: { readonly atMs: number; readonly tasks: string } | undefined;
  /** The farthest state that a task has reached, by its place. */
  readonly distances: ReadonlyMap<string, number>;
  readonly state: SwarmUpdateStatus | undefined;
  /** The time of the last progress of a task or of the swarm's updater. */
  readonly movedAtMs: number;
  /** The time at which the swarm's updater ended, with or without success. */
  readonly settledAtMs: number | undefined;
  /** The time since which a task of the new image has been on a lost node. */
  readonly lostSinceMs: number | undefined;
  /** Failures of tasks of the new image, the oldest first. */
  readonly failures: ReadonlyMap<string, TaskFailure>;
  /** The time at which the swarm's rollback was seen. */
  readonly backSinceMs: number | undefined;
};

type TaskFailure = { readonly place: string; readonly words: string; readonly isImagesOwn: boolean };

/** The state before the first reading. `tasks` are those before the update. */
export function beginWatch(
  service: Pick<SwarmService, 'update'>,
  tasks: readonly SwarmTask[],
  nowMs: number,
): ServiceWatch {
  return {
    before: new Set(tasks.filter(hasFailed).map(({ id }) => id)),
    beforeStartedAtMs: service.update?.startedAtMs,
    isBegun: false,
    provenSince: undefined,
    returnedSince: undefined,
    distances: new Map(),
    state: undefined,
    movedAtMs: nowMs,
    settledAtMs: undefined,
    lostSinceMs: undefined,
    failures: new Map(),
    backSinceMs: undefined,
  };
}

/** The state after one more reading. */
export function watchService(watch: ServiceWatch, facts: ServiceFacts): ServiceWatch {
  const { service, update, tasks, nodes, nowMs } = facts;
  if (service === undefined) return watch;
  const state = service.update?.state;
  const ofNew = tasks.filter(({ image }) => image === update.to);
  const distances = farthest(watch.distances, ofNew);
  const hasMoved =
    state !== watch.state || distances.size !== watch.distances.size || isFarther(distances, watch.distances);
  const down = new Set(nodes.filter((node) => node.state === 'down').map(({ id }) => id));
  const isLost = ofNew.some(({ desired, nodeId }) => desired === 'running' && down.has(nodeId));
  const isBack = service.image === update.from && isRollback(state);
  return {
    ...watch,
    isBegun: watch.isBegun || service.image === update.to,
    provenSince: runningSince(watch.provenSince, facts, service, update.to),
    returnedSince: runningSince(watch.returnedSince, facts, service, update.from),
    distances,
    state,
    movedAtMs: hasMoved ? nowMs : watch.movedAtMs,
    settledAtMs: state === 'updating' || state === 'rollback_started' ? undefined : (watch.settledAtMs ?? nowMs),
    lostSinceMs: isLost ? (watch.lostSinceMs ?? nowMs) : undefined,
    failures: failuresOf(watch, facts, ofNew),
    backSinceMs: isBack ? (watch.backSinceMs ?? nowMs) : undefined,
  };
}

function isRollback(state: SwarmUpdateStatus | undefined): boolean {
  return state === 'rollback_started' || state === 'rollback_paused' || state === 'rollback_completed';
}

function runningSince(
  known: ServiceWatch['provenSince'],
  { tasks, nodes, nowMs }: ServiceFacts,
  service: SwarmService,
  image: string,
): ServiceWatch['provenSince'] {
  const { wanted, running } = countTasks(service, image, tasks, nodes);
  if (service.image !== image || wanted === 0 || running.length < wanted) return undefined;
  const ids = running
    .map(({ id }) => id)
    .toSorted()
    .join(' ');
  return known?.tasks === ids ? known : { atMs: nowMs, tasks: ids };
}

function farthest(known: ServiceWatch['distances'], tasks: readonly SwarmTask[]): ServiceWatch['distances'] {
  const distances = new Map(known);
  for (const task of tasks) {
    const place = placeOf(task);
    distances.set(place, Math.max(distances.get(place) ?? 0, progressOf(task)));
  }
  return distances;
}

/** The place of a task in its service: a slot, or for a global service a node. */
function placeOf({ slot, nodeId }: SwarmTask): string {
  return slot === undefined ? `node ${nodeId}` : `slot ${slot}`;
}

/** The number of states that a task has passed on its way to `running`; 0 for one that has ended. */
function progressOf({ state }: SwarmTask): number {
  const at = taskStates.indexOf(state);
  return at > taskStates.indexOf('running') ? 0 : at + 1;
}

function isFarther(now: ServiceWatch['distances'], before: ServiceWatch['distances']): boolean {
  return [...now].some(([place, distance]) => distance > (before.get(place) ?? 0));
}

function failuresOf(
  watch: ServiceWatch,
  { nodes }: ServiceFacts,
  ofNew: readonly SwarmTask[],
): ServiceWatch['failures'] {
  const news = ofNew.filter((task) => hasFailed(task) && !watch.before.has(task.id) && !watch.failures.has(task.id));
  if (news.length === 0 || watch.failures.size >= maxFailures) return watch.failures;
  const described = news.map((task): [string, TaskFailure] => [
    task.id,
    { place: placeOf(task), words: describeTaskError(task, nodes), isImagesOwn: isImagesOwnFault(task) },
  ]);
  return new Map([...watch.failures, ...described]);
}

/** More failures add no information. */
const maxFailures = 1000;

/**
 * Whether all wanted tasks have run the version for longer than the window, which proves it without a watcher. Times
 * are of the swarm's clocks; `nowMs` is the manager's.
 */
export function isLongProven(
  service: SwarmService,
  tasks: readonly SwarmTask[],
  nodes: readonly SwarmNode[],
  { nowMs, windowMs }: { readonly nowMs: number; readonly windowMs: number },
): boolean {
  const { wanted, running } = countTasks(service, service.image, tasks, nodes);
  return running.length >= wanted && running.every(({ stateAtMs }) => nowMs - stateAtMs > windowMs + clockSkewMs);
}

/** Nodes of a swarm need synchronised clocks for their certificates. */
const clockSkewMs = 2000;

/**
 * The version that the swarm has rolled back by itself, from its newest task, which failed. Undefined if its history
 * has none. Tasks of another tag are ignored.
 */
export function versionRolledBackBySwarm(
  { image, labels, update }: SwarmService,
  tasks: readonly SwarmTask[],
  nodes: readonly SwarmNode[],
): { readonly image: string; readonly fault: Fault } | undefined {
  const textOf = (each: string) => readServiceImage(each, labels).text;
  const others = tasks.filter((task) => task.image !== image && textOf(task.image) === textOf(image));
  const newest = others.toSorted((one, other) => one.createdAtMs - other.createdAtMs).at(-1);
  if (newest === undefined || digestIn(newest.image) === undefined) return undefined;
  const failed = others.findLast((task) => task.image === newest.image && hasFailed(task));
  if (failed === undefined) return undefined;
  const reason = `The swarm says: ${update?.message ?? ''}; a task says: ${describeTaskError(failed, nodes)}`;
  return { image: newest.image, fault: { reason, isImagesOwn: isImagesOwnFault(failed) } };
}

/** One reading of the swarm. */
export type ServiceFacts = {
  readonly update: ServiceUpdate;
  /** Undefined: it was removed. */
  readonly service: SwarmService | undefined;
  /** The tasks of this service only. */
  readonly tasks: readonly SwarmTask[];
  readonly nodes: readonly SwarmNode[];
  /** Monotonic milliseconds. */
  readonly nowMs: number;
};

/** Milliseconds. */
export type ServiceLimits = {
  /** The time that new tasks must run: the longer of the swarm's monitor and the health window. */
  readonly windowMs: number;
  /** The time for that proof after the end of the swarm's updater. */
  readonly proofMs: number;
  /** The time without progress after which an update has stalled: no node fits, or an image cannot be pulled. */
  readonly stallMs: number;
};

/** The next action of an update. */
export type ServiceStep =
  | { readonly kind: 'update' }
  | { readonly kind: 'wait'; readonly phase: 'starting' | 'rolling back'; readonly progress: TaskProgress }
  | ({ readonly kind: 'go back' } & Fault)
  | {
      readonly kind: 'end';
      readonly outcome: Extract<OutcomeKind, 'updated' | 'rolled_back' | 'failed' | 'deferred'>;
      /** A sentence without a final period; empty for `updated`. */
      readonly reason: string;
      /** Present if the version must not be tried again. */
      readonly fault?: Fault;
    };

/** Why a version is rolled back. */
export type Fault = {
  readonly reason: string;
  /** It failed by itself, not because of a registry, a node or a placement. */
  readonly isImagesOwn: boolean;
};

/**
 * The number of tasks that a service should have, and those that run a version. Only tasks that should run on a ready
 * node count: for some time the manager shows a task on a lost node as running. A global service should run on every
 * ready node that has one of its tasks.
 */
function countTasks(
  { mode, replicas = 0 }: Pick<SwarmService, 'mode' | 'replicas'>,
  image: string,
  tasks: readonly SwarmTask[],
  nodes: readonly SwarmNode[],
): { readonly wanted: number; readonly running: readonly SwarmTask[] } {
  const ready = new Set(nodes.filter(({ state }) => state === 'ready').map(({ id }) => id));
  const wanted = tasks.filter(({ desired, nodeId }) => desired === 'running' && ready.has(nodeId));
  const running = wanted.filter((task) => task.image === image && task.state === 'running');
  if (mode === 'global') return { wanted: new Set(wanted.map(({ nodeId }) => nodeId)).size, running };
  return { wanted: replicas, running };
}

/** Whether a task of a service that should keep running has ended by itself. */
function hasFailed({ state }: SwarmTask): boolean {
  return state === 'failed' || state === 'complete' || state === 'rejected';
}

/**
 * Whether an end is the image's own fault. A rejected task lacks something on its node: "No such image" means that the
 * registry is unreachable, requires a login or has lost the digest.
 */
function isImagesOwnFault({ state, error }: Pick<SwarmTask, 'state' | 'error'>): boolean {
  return (state === 'failed' || state === 'complete') && !ofTheNode.test(error);
}

const ofTheNode = /no such image|port is already|address already in use|no suitable node|no space left/i;

/** The error text of a task, with its node. */
function describeTaskError(task: SwarmTask, nodes: readonly SwarmNode[]): string {
  const node = nodes.find(({ id }) => id === task.nodeId)?.hostname;
  const error =
    task.error || (task.exitCode === undefined ? task.state : `${task.state} with exit code ${task.exitCode}`);
  return node === undefined || node === '' ? error : `${error} on ${node}`;
}
