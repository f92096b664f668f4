import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskView } from '../../lab/swarm/client.ts';
import { runningTasks } from '../../lab/swarm/service-spec.ts';
import type { LabSwarm } from '../../lab/swarm/swarm.ts';
import type { Deployed, Entry } from './deployed.ts';

/** So long a version that is said to be proven must stay without a failure: longer than `crash-later` takes. */
const watchedMs = 3500;
const everyMs = 200;

/**
 * What is untrue in what the report says of a service, told by its tasks alone: read now, and for some seconds on.
 * Undefined: nothing is.
 */
export async function untruth(
  swarm: LabSwarm,
  { id, wanted, digest: old, image }: Deployed,
  next: string,
  { outcome }: Entry,
): Promise<string | undefined> {
  const { Spec } = await swarm.service(id);
  const now = Spec.TaskTemplate.ContainerSpec.Image;
  switch (outcome) {
    case 'updated':
      if (!now.endsWith(next)) return `it is said to be updated, and its spec says ${now}`;
      return watchRunning(swarm, id, next, Spec.Mode?.Global === undefined ? wanted : await readyNodes(swarm));
    case 'rolled_back':
      if (!now.endsWith(old)) return `it is said to be rolled back, and its spec says ${now}`;
      return watchRunning(swarm, id, old, Spec.Mode?.Global === undefined ? wanted : await readyNodes(swarm));
    case 'fresh':
    case 'unknown':
    case 'skipped':
    case 'deferred':
      return now === image || now.endsWith(next) ? undefined : `it is ${outcome}, and its spec says ${now}`;
    case 'failed': {
      const tasks = await swarm.tasks(id);
      const isWell = wanted > 0 && runningTasks(tasks, old).length === wanted && now.endsWith(old);
      return isWell ? 'it is said to have failed, and the old version runs as before' : undefined;
    }
    default:
      return `nobody knows what "${outcome}" means`;
  }
}

async function readyNodes(swarm: LabSwarm): Promise<number> {
  return (await swarm.nodeViews()).filter(({ Status }) => Status.State === 'ready').length;
}

async function watchRunning(swarm: LabSwarm, id: string, digest: string, wanted: number): Promise<string | undefined> {
  const isOf = ({ Spec }: TaskView) => Spec.ContainerSpec.Image.endsWith(digest);
  const failed = async () =>
    new Set((await swarm.tasks(id)).filter((task) => isOf(task) && task.Status.State === 'failed').map(({ ID }) => ID));
  const before = await failed();
  const ready = new Set((await swarm.nodeViews()).filter(({ Status }) => Status.State === 'ready').map(({ ID }) => ID));
  const deadlineMs = performance.now() + watchedMs;
  while (performance.now() < deadlineMs) {
    const tasks = runningTasks(await swarm.tasks(id), digest).filter(({ NodeID }) => ready.has(NodeID ?? ''));
    if (tasks.length < wanted) return `${tasks.length} of ${wanted} tasks run ${digest}`;
    const fresh = [...(await failed())].filter((task) => !before.has(task));
    if (fresh.length > 0) return `tasks of ${digest} fail: ${fresh.join(', ')}`;
    await sleep(everyMs);
  }
  return undefined;
}
