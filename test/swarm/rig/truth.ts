import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskView } from '../../lab/swarm/client.ts';
import { runningTasks } from '../../lab/swarm/service-spec.ts';
import type { LabSwarm } from '../../lab/swarm/swarm.ts';
import type { Deployed, Entry } from './deployed.ts';

/** Time for which a version reported as proven must stay without a failure: longer than `crash-later` takes. */
const watchedMs = 3500;
const everyMs = 200;

/**
 * False statements of the report about a service, according to its tasks, which are read for some seconds. Undefined if
 * there are none.
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

/** `2: failed on kd3…, to be shutdown (task: non-zero exit (3))`. */
function taskWords({ Slot = 0, NodeID = '', DesiredState, Status: { State, Err = '' } }: TaskView): string {
  return `${Slot}: ${State} on ${NodeID}, to be ${DesiredState} (${Err})`;
}

async function readyNodes(swarm: LabSwarm): Promise<number> {
  return (await swarm.nodeViews()).filter(({ Status }) => Status.State === 'ready').length;
}

async function watchRunning(swarm: LabSwarm, id: string, digest: string, wanted: number): Promise<string | undefined> {
  const isOf = ({ Spec }: TaskView) => Spec.ContainerSpec.Image.endsWith(digest);
  const ofIt = async () => (await swarm.tasks(id)).filter(isOf);
  const hasFailed = ({ Status }: TaskView) => Status.State === 'failed';
  // A task that should stop may fail when its lost node is back; this does not concern the tasks that should run.
  const before = (await ofIt()).filter((task) => hasFailed(task) || task.DesiredState !== 'running');
  const known = new Set(before.map(({ ID }) => ID));
  const ready = new Set((await swarm.nodeViews()).filter(({ Status }) => Status.State === 'ready').map(({ ID }) => ID));
  const deadlineMs = performance.now() + watchedMs;
  while (performance.now() < deadlineMs) {
    const tasks = runningTasks(await swarm.tasks(id), digest).filter(({ NodeID }) => ready.has(NodeID ?? ''));
    if (tasks.length < wanted)
      return `${tasks.length} of ${wanted} tasks run ${digest}: ${(await ofIt()).map(taskWords).join('; ')}`;
    const fresh = (await ofIt()).filter((task) => hasFailed(task) && !known.has(task.ID));
    if (fresh.length > 0) return `tasks of ${digest} fail: ${fresh.map(({ ID }) => ID).join(', ')}`;
    await sleep(everyMs);
  }
  return undefined;
}
