/** Whether and how a container is replaced: obstacles, what is kept, the order of stop and start, its compose file. */

import {
  effectiveSettings,
  labelValuesOf,
  type DesiredEndState,
  type SelfUpdate,
  type ServiceSettings,
} from '../settings/effective-settings.ts';
import { removesItself, ownJournal } from '../transaction/journal.ts';
import type { Container } from '../container/container.ts';
import type { UnitVerdict } from '../container/quadlet.ts';
import type { DependencyGraph, HardDependency } from './dependency-graph.ts';
import { quoted } from '../text/printable.ts';
import { swarmTaskLabel } from '../check/selection.ts';
import { isParkedName } from '../transaction/transaction-names.ts';
import type { EngineAbilities } from '../outside/engine.ts';
import type { PlannedMember } from './update-plan.ts';
import { networkOfRepeatedMac, hasHostNetwork, sharesNetwork } from '../container/recipe/networks.ts';
import { readComposeIdentity } from '../container/lookup.ts';
import { composeImageLabel } from '../container/recipe/config.ts';

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
  /** The units of systemd that run stale containers, by the id of the container. Absent: none is known. */
  readonly units?: ReadonlyMap<string, UnitVerdict>;
  readonly settings: Pick<
    ServiceSettings,
    'updateAutoRemove' | 'selfUpdate' | 'data' | 'dataFolders' | 'removeVolumes'
  >;
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
  const unit = context.units?.get(container.id);
  const reason = unit === undefined ? whyNotRecreated(container, context) : whyNotByUnit(container, unit, context);
  if (reason !== undefined) return reason;
  if (!context.imageIds.has(container.imageId)) {
    return 'runs an image that is gone from the engine, so its own settings cannot be distinguished from the image’s';
  }
  const held = context.graph.hard.get(container.id) ?? [];
  return held.map((dependency) => whyLost(container, dependency, context)).find((why) => why !== undefined);
}

function whyNotRecreated(container: Container, context: ReplacementContext): string | undefined {
  const { obstacle } = container.settings;
  return obstacle ?? (removesItself(container) ? whyNotByAutoRemoveReplica(container, context) : undefined);
}

/** systemd starts a container anew, alone, and always. */
function whyNotByUnit(
  container: Container,
  unit: UnitVerdict,
  { moved, doors }: ReplacementContext,
): string | undefined {
  if (unit.kind === 'held') return unit.reason;
  const run = `is run by the systemd unit ${quoted(unit.unit.name, 100)}`;
  if (doors.has(container.id)) return `${run}, and carries the connection of Upkeep to the engine: restart it by hand`;
  if (moved.size > 1) return `${run}, and other containers would have to move with it: restart it by hand`;
  const isRun = container.state.status === 'running' && moved.get(container.id) === 'running';
  return isRun ? undefined : `${run}, which would start it, and it is not to run`;
}

/** Why Upkeep does not hand the update of its own container, or of a door of the engine, to a helper. */
function whyNotByHelper(
  container: Container,
  { ownId, doors, settings, moved }: ReplacementContext,
): string | undefined {
  const isOwn = container.id === ownId;
  const reason = isOwn ? 'is Upkeep itself' : doors.get(container.id);
  if (reason === undefined) return undefined;
  const why = whyOff[settings.selfUpdate](container, isOwn);
  if (why !== undefined) return `${reason}, ${why}`;
  if (moved.size > 1) return `${reason}, which is only replaced alone`;
  if (removesItself(container)) return `${reason}, and is removed by the engine as soon as it stops (--rm)`;
  return moved.get(container.id) === 'running' ? undefined : `${reason}, which must not stay stopped`;
}

const whyOff: Readonly<Record<SelfUpdate, (container: Container, isOwn: boolean) => string | undefined>> = {
  on: () => undefined,
  // For a door the ports of our own container do not matter: a helper has none.
  'unless-published': (container, isOwn) =>
    isOwn && publishesPorts(container)
      ? 'and self-update is off because the HTTP API is on and the container publishes ports: recreate it by hand'
      : undefined,
  off: () => 'and self-update is off',
  'not-by-this-command': () => 'which only the running service replaces',
  'not-main-process': (_, isOwn) =>
    isOwn
      ? 'which is not the main process of the container: recreate it by hand'
      : 'and Upkeep is not the main process of its container: update it by hand',
};

/** Whether host ports lead into the container. */
export function publishesPorts({ settings: { HostConfig } }: Container): boolean {
  const bindings = Object.values(HostConfig.PortBindings ?? {});
  return HostConfig.PublishAllPorts === true || bindings.some((bound) => bound !== null && bound.length > 0);
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
  if (target === undefined) return `${whose}, a container that no longer exists`;
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

/**
 * The time for which a replaced container is kept. 0: it is removed; if the user asked for keeping, `reason` follows
 * its name.
 */
type KeepOrder = { readonly keepMs: number; readonly reason?: string };

type KeepContext = {
  readonly settings: Pick<ServiceSettings, 'keepOldMs' | 'removeVolumes'>;
  readonly abilities: Pick<EngineAbilities, 'changesRestartPolicies'>;
  /** Whether it moves together with others. */
  readonly isInGroup: boolean;
  /** Whether a helper replaces it: Upkeep runs in it, or needs it. */
  readonly isForHelper: boolean;
  /** Whether it or its successor is `--rm`. */
  readonly autoRemoves: boolean;
};

/** A container is not kept if it could start by itself, could not come back alone, or would not survive its stop. */
export function keepOrderOf(container: Container, context: KeepContext): KeepOrder {
  const { keepOldMs: keepMs } = effectiveSettings(context.settings, labelValuesOf(container));
  if (keepMs === 0) return { keepMs };
  const reason = whyNotKept(container, context);
  return reason === undefined ? { keepMs } : { keepMs: 0, reason };
}

function whyNotKept(
  { settings: { HostConfig } }: Container,
  { settings, abilities, isInGroup, isForHelper, autoRemoves }: KeepContext,
): string | undefined {
  if (isForHelper) return 'is Upkeep itself, or its way to the engine, and could not be rolled back from here';
  if (isInGroup) return 'is updated together with others, and could not come back without them';
  if (autoRemoves) return 'is removed by the engine as soon as it stops (--rm)';
  if (settings.removeVolumes) return 'is to lose its anonymous volumes (--remove-volumes)';
  const policy = HostConfig.RestartPolicy?.Name ?? '';
  const neverStarts = policy === '' || policy === 'no';
  return abilities.changesRestartPolicies || neverStarts
    ? undefined
    : 'has a restart policy that this engine cannot remove';
}

/**
 * Whether remove-volumes applies to this container. A container that is only re-created because of another one, or whose
 * volumes others use, keeps its volumes.
 */
export function getsFreshVolumes(
  { cause, lendsVolumes }: Pick<PlannedMember, 'cause' | 'lendsVolumes'>,
  { removeVolumes }: Pick<ServiceSettings, 'removeVolumes'>,
): boolean {
  return removeVolumes && cause === 'stale' && lendsVolumes !== true;
}

/**
 * Whether the successor may start and prove itself beside the old container, so that there is no downtime. Otherwise
 * the old one is stopped first. `reason` follows its name: `publishes a port`.
 */
type StartOrder =
  | { readonly kind: 'stop-first' }
  | { readonly kind: 'start-first' }
  | { readonly kind: 'impossible'; readonly reason: string };

/**
 * The start order of a container. The option applies if two instances can run together, by the container's settings.
 * The label also allows shared writable volumes, because its author knows the program. Data are copied only while
 * nothing runs on them.
 */
export function startOrderOf(
  container: Container,
  settings: Pick<ServiceSettings, 'startFirst'>,
  { savesData = false } = {},
): StartOrder {
  const labelValues = labelValuesOf(container);
  if (!effectiveSettings(settings, labelValues).startFirst) return { kind: 'stop-first' };
  if (savesData) return { kind: 'impossible', reason: 'has data to be copied while it is stopped' };
  const reason =
    whyNotSideBySide(container) ?? (labelValues.startFirst === true ? undefined : whyNotBesideItself(container));
  return reason === undefined ? { kind: 'start-first' } : { kind: 'impossible', reason };
}

/** Checks for resources that an engine gives to one container at a time. */
function whyNotSideBySide(container: Container): string | undefined {
  const { Config, HostConfig, Networks } = container.settings;
  if (container.state.status !== 'running') return 'does not run';
  if (removesItself(container)) return 'is removed by the engine as soon as it stops (--rm)';
  if (hasHostNetwork(container) || sharesNetwork(container)) return 'has no network of its own';
  const bindings = Object.values(HostConfig.PortBindings ?? {}).flatMap((bound) => bound ?? []);
  if (bindings.some(({ HostPort = '' }) => HostPort !== '' && HostPort !== '0')) return 'publishes a fixed port';
  if (Config.MacAddress) return 'has a fixed hardware address';
  const repeating = networkOfRepeatedMac(container);
  if (repeating !== undefined) return `has a hardware address in ${quoted(repeating, 64)} that both would have`;
  const isFixed = Object.values(Networks).some(({ IPAMConfig }) => Object.values(IPAMConfig ?? {}).some(isGiven));
  return isFixed ? 'has a fixed address' : undefined;
}

function whyNotBesideItself({ settings }: Container): string | undefined {
  const shared = settings.Mounts.find(({ Type, RW }) => Type !== 'tmpfs' && RW !== false);
  return shared === undefined ? undefined : 'has a volume or folder that both could write to';
}

function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null && value !== '';
}

/**
 * A reminder to change the compose file after an update of a container to another tag. Empty if the file need not
 * change.
 */
export function composeFileRemark({ container, reference, formerReference, imageId }: PlannedMember): string {
  const identity = readComposeIdentity(container.settings.Config.Labels ?? {});
  // A rollback uses an image id, and may return to the tag in the file.
  if (formerReference === undefined || identity === undefined || imageId !== undefined) return '';
  const written = quoted(formerReference, 300);
  return `the compose file may still name ${written}: write ${quoted(reference, 300)} there, or a change of its service there goes back`;
}

/**
 * The reference in the compose file of a container whose successor gets another tag, or got one in an earlier update.
 * Undefined for a container without compose's label, and when the successor has the tag of the file.
 */
export function composeReferenceOf(
  { reference, formerReference }: Pick<PlannedMember, 'reference' | 'formerReference'>,
  { settings, imageLabels }: Container,
): string | undefined {
  const labels = settings.Config.Labels ?? {};
  if (!Object.hasOwn(labels, composeImageLabel)) return undefined;
  const written = ownJournal(labels, imageLabels)?.composeReference ?? formerReference;
  return written === reference ? undefined : written;
}
