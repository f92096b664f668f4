import { advanceUpdater } from './updater.ts';
import { nodesFor } from './placement.ts';
import { assign, createTask, isAway, stopTask } from './tasks.ts';
import { hasEnded, nsToMs, placeOf, tasksOf, type SandboxService, type SwarmState } from './swarm-world.ts';

/** Swarm's default delay before it restarts a task: five seconds. */
const restartDelayMs = 5000;

/** Takes the next step from the actual to the desired state; called after every change. */
export function reconcile(world: SwarmState): void {
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
