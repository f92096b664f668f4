import { advanceUpdater } from './updater.ts';
import { nodesFor } from './placement.ts';
import { assign, createTask, isAway, stopTask } from './task-life.ts';
import { hasEnded, nsToMs, placeOf, tasksOf, type SandboxService, type SwarmWorld } from './swarm-world.ts';

/** Swarm restarts a task after five seconds, where the service does not say. */
const restartDelayMs = 5000;

/** Brings everything one step nearer to what is wanted; called after whatever has changed. */
export function settle(world: SwarmWorld): void {
  const again = () => settle(world);
  for (const service of world.services.values()) {
    replaceEnded(world, service, again);
    fill(world, service, again);
    for (const task of tasksOf(world, service)) assign(world, service, task, again);
    advanceUpdater(world, service, again);
  }
}

export function wantedPlaces(world: SwarmWorld, service: SandboxService): readonly string[] {
  const { Mode } = service.spec;
  if (Mode?.Global !== undefined) return nodesFor(world, service).map(({ id }) => id);
  return Array.from({ length: Mode?.Replicated?.Replicas ?? 1 }, (_, index) => String(index + 1));
}

/** A task that ended though it was to run has a successor in its slot, of what the spec is by then. */
function replaceEnded(world: SwarmWorld, service: SandboxService, again: () => void): void {
  for (const task of tasksOf(world, service)) {
    if (task.desired !== 'running') continue;
    const isLost = isAway(world, task);
    if (!hasEnded(task) && !isLost) continue;
    // The updater goes on waiting for the task that it has put there, wherever that is.
    if (isLost && service.updater?.current?.newId === task.id && service.updater.kind === 'update') continue;
    task.desired = 'shutdown';
    const nodeId = service.spec.Mode?.Global === undefined ? '' : task.nodeId;
    const delayMs = nsToMs(service.spec.TaskTemplate.RestartPolicy?.Delay, restartDelayMs);
    world.later.in(delayMs, () => {
      if (world.services.get(service.id) !== service || !wantedPlaces(world, service).includes(placeOf(task))) return;
      if (!isTaken(world, service, placeOf(task)))
        createTask(world, service, { slot: task.slot, nodeId, desired: 'running' }, again);
      again();
    });
  }
}

/** Places where no task ever was, and tasks that are in no place any more. */
function fill(world: SwarmWorld, service: SandboxService, again: () => void): void {
  const places = wantedPlaces(world, service);
  const isGlobal = service.spec.Mode?.Global !== undefined;
  const known = new Set(tasksOf(world, service).map(placeOf));
  for (const place of places) {
    if (known.has(place)) continue;
    createTask(
      world,
      service,
      { slot: isGlobal ? undefined : Number(place), ...(isGlobal && { nodeId: place }), desired: 'running' },
      again,
    );
  }
  for (const task of tasksOf(world, service))
    if (!places.includes(placeOf(task)) && !isGlobal) stopTask(world, task, again);
}

function isTaken(world: SwarmWorld, service: SandboxService, place: string): boolean {
  return tasksOf(world, service).some((task) => placeOf(task) === place && task.desired !== 'shutdown');
}
