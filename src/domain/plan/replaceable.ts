import {
  effectiveSettings,
  labelValuesOf,
  type DesiredEndState,
  type ServiceSettings,
} from '../settings/effective-settings.ts';
import { removesItself } from '../transaction/auto-remove.ts';
import type { Container } from '../container/container.ts';
import type { DependencyGraph } from './graph/dependency-graph.ts';
import type { HardDependency } from './graph/hard-dependencies.ts';
import { quoted } from '../text/printable.ts';
import { swarmTaskLabel } from '../check/watch-rules.ts';
import { whyNoDoorUpdate, whyNotSelfUpdated } from '../self-update/self-update.ts';
import { isParkedName } from '../transaction/transaction-names.ts';

export type ReplacementContext = {
  readonly graph: DependencyGraph;
  /** Ids of jobs that other containers wait for. */
  readonly jobs: ReadonlySet<string>;
  /** Ids of all images in the engine. */
  readonly imageIds: ReadonlySet<string>;
  /** Members of the same transaction by id, with their state after it. */
  readonly moved: ReadonlyMap<string, DesiredEndState>;
  /** The id of the container that we run in. */
  readonly ownId: string | undefined;
  /** The containers that a helper replaces, because this process needs them, by id. Each reason follows its name. */
  readonly doors: ReadonlyMap<string, string>;
  readonly settings: Pick<ServiceSettings, 'updateAutoRemove' | 'selfUpdate'>;
};

/**
 * Why a container cannot be replaced safely, so that its update is not begun. Undefined when it can. The text follows
 * its name: `is paused`.
 */
export function whyNotReplaceable(container: Container, context: ReplacementContext): string | undefined {
  const { Config } = container.settings;
  const whyNoHelper = whyNotByHelper(container, context);
  if (whyNoHelper !== undefined) return whyNoHelper;
  if (isParkedName(container.name)) return 'belongs to an update that is not finished';
  if (Config.Labels?.[swarmTaskLabel] !== undefined) {
    return 'is a task of a Swarm service, and Swarm replaces those itself: update the service';
  }
  const { status } = container.state;
  if (status === 'paused') return 'is paused, and a paused container cannot be stopped: unpause it first';
  if (status === 'removing' || status === 'dead') return 'is being removed';
  if (status === 'running' && context.jobs.has(container.id)) {
    return 'is a job that others wait for, and is running: it is replaced when it has ended';
  }
  const reason = removesItself(container) ? whyNotByAutoRemoveReplica(container, context) : undefined;
  if (reason !== undefined) return reason;
  if (!context.imageIds.has(container.imageId)) {
    return 'runs an image that is gone from the engine, so its own settings cannot be distinguished from the image’s';
  }
  if (container.settings.obstacle !== undefined) return container.settings.obstacle;
  const held = context.graph.hard.get(container.id) ?? [];
  return held.map((dependency) => whyLost(container, dependency, context)).find((why) => why !== undefined);
}

function whyNotByHelper(
  container: Container,
  { ownId, doors, settings, moved }: ReplacementContext,
): string | undefined {
  const replacement = { selfUpdate: settings.selfUpdate, moved };
  if (container.id === ownId) return whyNotSelfUpdated(container, replacement);
  const reason = doors.get(container.id);
  return reason === undefined ? undefined : whyNoDoorUpdate(container, replacement, reason);
}

/**
 * A container with `--rm` can be updated if the option is on, it runs before and after the update, and no other
 * container moves with it. On failure a replica without `--rm` takes its place.
 */
function whyNotByAutoRemoveReplica(container: Container, { moved, settings }: ReplacementContext): string | undefined {
  const cause = 'is removed by the engine as soon as it stops (--rm)';
  if (isLeftForAutoRemove(container, settings)) return `${cause}, so it is updated only where update-auto-remove is on`;
  if (moved.size > 1) return `${cause}, and the containers that depend on it could not join its replacement`;
  const isService = container.state.status === 'running' && moved.get(container.id) === 'running';
  return isService ? undefined : `${cause}, and does not run now or after the update`;
}

/** Whether no update replaces the container, because of `--rm` and of the settings. */
export function isLeftForAutoRemove(
  container: Container,
  settings: Pick<ServiceSettings, 'updateAutoRemove'>,
): boolean {
  return removesItself(container) && !effectiveSettings(settings, labelValuesOf(container)).updateAutoRemove;
}

const sharedResources: Readonly<Record<HardDependency['kind'], string>> = {
  network: 'network',
  ipc: 'IPC namespace',
  pid: 'process namespace',
  uts: 'host name',
  volumes: 'volumes',
  link: 'link',
};

/**
 * A container continues to run when the owner of its network is removed or stopped. Once it stops, neither it nor its
 * successor can start ("cannot join network of a non running container"), so the update could not be undone. Volumes of
 * a stopped container stay available.
 */
function whyLost(
  container: Container,
  { kind, names, targetId }: HardDependency,
  { graph, moved }: ReplacementContext,
): string | undefined {
  const whose = `uses the ${sharedResources[kind]} of ${quoted(names, 64)}`;
  const target = targetId === undefined ? undefined : graph.containers.get(targetId);
  if (target === undefined) return `${whose}, a container that does not exist any more`;
  if (isParkedName(target.name)) return `${whose}, which belongs to an update that is not finished`;
  if (kind === 'volumes') return undefined;
  if (moved.get(target.id) === 'stopped' && moved.get(container.id) !== 'stopped') {
    return `${whose}, which stays stopped, so it could not be started`;
  }
  if (container.state.status !== 'running') return undefined;
  const { status } = target.state;
  const willRun = status === 'running' || status === 'paused' || (status === 'restarting' && moved.has(target.id));
  return willRun ? undefined : `${whose}, which is not running, so it could not be started again`;
}
