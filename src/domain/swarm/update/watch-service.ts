import type { ServiceFacts } from './service-update.ts';
import {
  countTasks,
  progressOf,
  hasFailed,
  isImagesOwnFault,
  placeOf,
  describeTaskError,
  type SwarmService,
  type SwarmTask,
  type SwarmUpdateStatus,
} from '../../container/swarm-service.ts';

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

export type TaskFailure = { readonly place: string; readonly words: string; readonly isImagesOwn: boolean };

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

export function isRollback(state: SwarmUpdateStatus | undefined): boolean {
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

function isFarther(now: ServiceWatch['distances'], before: ServiceWatch['distances']): boolean {
  return [...now].some(([place, distance]) => distance > (before.get(place) ?? 0));
}

function failuresOf(
  watch: ServiceWatch,
  { nodes }: ServiceFacts,
  ofNew: readonly SwarmTask[],
): ServiceWatch['failures'] {
  const news = ofNew.filter((task) => hasFailed(task) && !watch.before.has(task.id) && !watch.failures.has(task.id));
  if (news.length === 0 || watch.failures.size >= mostFailures) return watch.failures;
  const described = news.map((task): [string, TaskFailure] => [
    task.id,
    { place: placeOf(task), words: describeTaskError(task, nodes), isImagesOwn: isImagesOwnFault(task) },
  ]);
  return new Map([...watch.failures, ...described]);
}

/** More failures add no information. */
const mostFailures = 1000;
