import { parseImageReference } from '../../src/domain/image/image-reference.ts';
import type { Clock } from '../../src/domain/outside/outside.ts';
import { createIdSource, createTimers } from '../base/simulation.ts';
import type { RegistryStore } from '../registry/registry-store.ts';
import {
  hasEnded,
  nsToMs,
  placeOf,
  tasksOf,
  monitorMs,
  type SwarmState,
  type SandboxService,
  type SandboxTask,
  type Updater,
} from './swarm-world.ts';
import { nodesFor, assign, createTask, isAway, stopTask, startTask } from './tasks.ts';
import type { SwarmUpdateStatus } from '../../src/domain/container/swarm-service.ts';

/** A swarm without nodes; they pull from the registries. */
export function createSwarmWorld({
  clock,
  registries,
  seed,
  announce,
}: {
  readonly clock: Clock;
  readonly registries: RegistryStore | undefined;
  readonly seed: string;
  readonly announce: SwarmState['announce'];
}): SwarmState {
  const world: SwarmState = {
    id: `swarm${seed}`,
    clock,
    later: createTimers(clock),
    newId: createIdSource(`${seed} swarm`),
    behaviourOf: async (reference, credentials) => {
      try {
        const manifest = await registries?.fetch(parseImageReference(reference), { credentials });
        const image = manifest?.kind === 'index' ? manifest.images[0] : manifest?.image;
        if (image === undefined) return undefined;
        const { behaviour, config } = image;
        return { behaviour, hasHealthcheck: config.Healthcheck !== undefined && config.Healthcheck !== null };
      } catch {
        // The error of a node has no other detail than the missing image.
        return undefined;
      }
    },
    announce,
    settle: () => reconcile(world),
    nodes: new Map(),
    services: new Map(),
    tasks: new Map(),
    failures: new Map(),
    taskHistory: 5,
    index: 10,
  };
  return world;
}

/** Swarm's default delay before it restarts a task: five seconds. */
const restartDelayMs = 5000;

/** Takes the next step from the actual to the desired state; called after every change. */
function reconcile(world: SwarmState): void {
  for (const service of world.services.values()) {
    replaceEnded(world, service);
    fill(world, service);
    for (const task of tasksOf(world, service)) assign(world, service, task);
    advanceUpdater(world, service);
  }
}

export function wantedPlaces(world: SwarmState, service: SandboxService): readonly string[] {
  const { Mode } = service.spec;
  if (Mode?.Global !== undefined) return nodesFor(world, service).map(({ id }) => id);
  return Array.from({ length: Mode?.Replicated?.Replicas ?? 1 }, (_, index) => String(index + 1));
}

/** A task that exited although it should run gets a successor in its slot, with the current spec. */
function replaceEnded(world: SwarmState, service: SandboxService): void {
  for (const task of tasksOf(world, service)) {
    if (task.desired !== 'running') continue;
    const isLost = isAway(world, task);
    if (!hasEnded(task) && !isLost) continue;
    // The updater continues to wait for the task that it created, even on a lost node.
    if (isLost && service.updater?.current?.newId === task.id && service.updater.kind === 'update') continue;
    task.desired = 'shutdown';
    const nodeId = service.spec.Mode?.Global === undefined ? '' : task.nodeId;
    const delayMs = nsToMs(service.spec.TaskTemplate.RestartPolicy?.Delay, restartDelayMs);
    world.later.in(delayMs, () => {
      if (world.services.get(service.id) !== service || !wantedPlaces(world, service).includes(placeOf(task))) return;
      if (!isTaken(world, service, placeOf(task)))
        createTask(world, service, { slot: task.slot, nodeId, desired: 'running' });
      world.settle();
    });
  }
}

/** Places without a task so far, and tasks without a place. */
function fill(world: SwarmState, service: SandboxService): void {
  const places = wantedPlaces(world, service);
  const isGlobal = service.spec.Mode?.Global !== undefined;
  const known = new Set(tasksOf(world, service).map(placeOf));
  for (const place of places) {
    if (known.has(place)) continue;
    const slot = isGlobal ? undefined : Number(place);
    createTask(world, service, { slot, ...(isGlobal && { nodeId: place }), desired: 'running' });
  }
  for (const task of tasksOf(world, service)) if (!places.includes(placeOf(task)) && !isGlobal) stopTask(world, task);
}

function isTaken(world: SwarmState, service: SandboxService, place: string): boolean {
  return tasksOf(world, service).some((task) => placeOf(task) === place && task.desired !== 'shutdown');
}

/** Time from the change of the spec to the first step of Docker's updater. */
const beginsAfterMs = 50;

/** Replaces the tasks of the old spec; the updater's state is in the service's `status`. */
export function beginUpdate(
  world: SwarmState,
  service: SandboxService,
  {
    kind,
    places,
    message,
  }: { readonly kind: Updater['kind']; readonly places: readonly string[]; readonly message: string },
): void {
  const updater: Updater = {
    kind,
    total: places.length,
    left: [...places],
    watched: new Map(),
    current: undefined,
    notBeforeMs: world.clock.nowMs() + beginsAfterMs,
  };
  service.updater = places.length === 0 ? undefined : updater;
  if (kind === 'rollback') setStatus(world, service, 'rollback_started', message);
  if (places.length === 0) {
    if (kind === 'rollback') setStatus(world, service, 'rollback_completed', 'rollback completed');
    return;
  }
  world.later.in(beginsAfterMs, () => {
    if (service.updater !== updater) return;
    if (kind === 'update') setStatus(world, service, 'updating', message);
    world.settle();
  });
}

/** One step of the updater: it reads its tasks. */
function advanceUpdater(world: SwarmState, service: SandboxService): void {
  const { updater } = service;
  if (updater === undefined || world.clock.nowMs() < updater.notBeforeMs) return;
  const failed = failures(world, updater);
  const config = configOf(service, updater);
  if (failed.length / updater.total > (config?.MaxFailureRatio ?? 0)) {
    const isOver = giveUp(world, service, updater, failed[0]?.id ?? '');
    if (isOver) return;
  }
  if (updater.current !== undefined && !isSlotDone(world, service, updater)) return;
  if (world.clock.nowMs() < updater.notBeforeMs) return;
  const place = updater.left.shift();
  if (place === undefined) return finish(world, service, updater);
  replace(world, service, updater, place);
}

function replace(world: SwarmState, service: SandboxService, updater: Updater, place: string): void {
  const old = tasksOf(world, service).filter((task) => placeOf(task) === place && task.desired !== 'shutdown');
  const isGlobal = service.spec.Mode?.Global !== undefined;
  const isStartFirst = configOf(service, updater)?.Order === 'start-first';
  if (!isStartFirst) for (const task of old) stopTask(world, task);
  const task = createTask(world, service, {
    slot: isGlobal ? undefined : Number(place),
    ...(isGlobal && { nodeId: place }),
    desired: isStartFirst ? 'running' : 'ready',
  });
  updater.watched.set(task.id, { untilMs: undefined });
  updater.current = { oldIds: old.map(({ id }) => id), newId: task.id };
  world.settle();
}

/** Whether the current slot is done: its new task runs, or has ended. Later failures do not count. */
function isSlotDone(world: SwarmState, service: SandboxService, updater: Updater): boolean {
  const { oldIds, newId } = updater.current ?? { oldIds: [], newId: '' };
  const task = world.tasks.get(newId);
  const old = oldIds.flatMap((id) => world.tasks.get(id) ?? []);
  if (task !== undefined && !hasEnded(task)) {
    if (task.desired === 'ready' && old.every((one) => hasEnded(one) || isAway(world, one))) startTask(world, task);
    if (task.state !== 'running') return false;
  }
  for (const one of old) stopTask(world, one);
  const config = configOf(service, updater);
  const watched = updater.watched.get(newId);
  const watchMs = monitorMs(config);
  if (watched !== undefined) watched.untilMs = world.clock.nowMs() + watchMs;
  world.later.in(watchMs, world.settle);
  updater.current = undefined;
  const delayMs = nsToMs(config?.Delay, 0);
  updater.notBeforeMs = world.clock.nowMs() + delayMs;
  if (delayMs > 0) world.later.in(delayMs, world.settle);
  return true;
}

function failures(world: SwarmState, { watched }: Updater): readonly SandboxTask[] {
  return [...watched].flatMap(([id, { untilMs }]) => {
    const task = world.tasks.get(id);
    if (task === undefined || !hasEnded(task) || task.state === 'shutdown') return [];
    return untilMs === undefined || task.stateAtMs <= untilMs ? [task] : [];
  });
}

/** True if the failure ends the update. */
function giveUp(world: SwarmState, service: SandboxService, updater: Updater, taskId: string): boolean {
  const action = updater.kind === 'rollback' ? 'pause' : (configOf(service, updater)?.FailureAction ?? 'pause');
  const why = `due to failure or early termination of task ${taskId}`;
  if (action === 'continue') return false;
  if (action === 'pause') {
    service.updater = undefined;
    setStatus(world, service, updater.kind === 'update' ? 'paused' : 'rollback_paused', `update paused ${why}`);
    return true;
  }
  revert(world, service, { message: `update rolled back ${why}`, keepsPrevious: false });
  return true;
}

/** Makes the previous spec the current one. The abandoned spec is kept only for a rollback by a person. */
export function revert(
  world: SwarmState,
  service: SandboxService,
  { message, keepsPrevious }: { readonly message: string; readonly keepsPrevious: boolean },
): void {
  if (service.previous === undefined) return;
  const undone = service.spec;
  service.spec = service.previous;
  service.previous = keepsPrevious ? undone : undefined;
  const image = service.spec.TaskTemplate.ContainerSpec.Image;
  const places = new Set(
    tasksOf(world, service)
      .filter((task) => task.desired !== 'shutdown' && task.image !== image)
      .map(placeOf),
  );
  beginUpdate(world, service, { kind: 'rollback', places: [...places], message });
}

function finish(world: SwarmState, service: SandboxService, updater: Updater): void {
  const isWatched = [...updater.watched.values()].some(({ untilMs = 0 }) => untilMs > world.clock.nowMs());
  if (isWatched) return;
  service.updater = undefined;
  if (updater.kind === 'update') setStatus(world, service, 'completed', 'update completed');
  else setStatus(world, service, 'rollback_completed', 'rollback completed');
  world.settle();
}

function configOf({ spec }: SandboxService, { kind }: Updater) {
  return kind === 'update' ? spec.UpdateConfig : spec.RollbackConfig;
}

function setStatus(world: SwarmState, service: SandboxService, state: SwarmUpdateStatus, message: string): void {
  const isBegun = state === 'updating' || state === 'rollback_started';
  const at = world.clock.nowMs();
  service.status = {
    state,
    message,
    startedAtMs: isBegun ? at : (service.status?.startedAtMs ?? at),
    completedAtMs: state === 'completed' || state === 'rollback_completed' ? at : undefined,
  };
  service.version = world.index += 1;
  world.announce('update', service);
}
