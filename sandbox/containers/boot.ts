import { killed, removeContainer } from './remove.ts';
import { endProcessSilently } from './process-end.ts';
import { restartsByItself, startProcess } from './processes.ts';
import type { SandboxContainer, World } from '../world/world.ts';

/**
 * The kind of an engine's end. `graceful`: SIGTERM, it stops its containers. `crash`: SIGKILL, the containers continue
 * until its next start. `power-cut`: all processes end at once.
 */
export type RestartKind = 'graceful' | 'crash' | 'power-cut';

/** The engine no longer answers: calls in flight have an unknown outcome, event streams break. */
export function stopEngine(world: World, kind: RestartKind): void {
  world.condition.up = false;
  world.pastEvents.length = 0;
  world.condition.connection.abort();
  world.condition.connection = new AbortController();
  world.events.breakAll();
  for (const container of world.containers.values()) {
    if (kind === 'power-cut') endProcessSilently(world, container, lostPower);
    else if (!world.liveRestore && kind === 'graceful') endProcessSilently(world, container, stopCode(container));
  }
}

/**
 * The engine's start, before it answers the first call. The rules are from Docker's documentation, or measured
 * (`test/contract/boot.ts`): https://docs.docker.com/engine/containers/start-containers-automatically/
 */
export function startEngine(world: World): void {
  const { profile } = world;
  const survivors = new Set([...world.containers.values()].filter(({ process }) => process !== undefined));
  for (const container of world.containers.values()) {
    if (!world.liveRestore) shutDownSurvivor(world, container);
    const isKept = survivors.has(container) && world.liveRestore && !profile.liveRestoreDeletesAutoRemove;
    if (container.hostConfig.AutoRemove === true && !isKept) removeContainer(world, container, { withVolumes: false });
  }
  for (const container of world.containers.values()) {
    if (container.process === undefined && restartsAtBoot(container)) tryToStart(world, container);
  }
  world.condition.up = true;
  world.events.emit({ kind: 'connected' });
}

/** A process that survived its engine is stopped by the next one. This counts as a manual stop. */
function shutDownSurvivor(world: World, container: SandboxContainer): void {
  if (container.process === undefined) return;
  container.manuallyStopped = true;
  endProcessSilently(world, container, stopCode(container));
}

function restartsAtBoot(container: SandboxContainer): boolean {
  const { hostConfig, state, manuallyStopped } = container;
  if (state.startedAt === undefined) return false;
  if (manuallyStopped && hostConfig.RestartPolicy?.Name === 'unless-stopped') return false;
  return restartsByItself(container, state.exitCode);
}

/**
 * The engine starts its containers in no order. A container that needs another one may fail and then stays stopped.
 */
function tryToStart(world: World, container: SandboxContainer): void {
  try {
    startProcess(world, container);
  } catch {
    container.process = undefined;
  }
}

function stopCode({ behaviour }: SandboxContainer): number {
  return behaviour.ignoresTerm === true ? killed : (behaviour.stopExitCode ?? 0);
}

/** Exit code that the engine records for a process whose exit it did not see. */
const lostPower = 255;
