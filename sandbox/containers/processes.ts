import { watchHealth } from '../world/health.ts';
import { defaultRuntime } from './create-body.ts';
import { writeAsProcess } from './files.ts';
import { claimHostPorts } from '../networks/host-ports.ts';
import { joinNetworks, leaveNetworks } from '../networks/networks.ts';
import { checkLinks, joinSharedNetwork, checkNamespaces } from '../networks/shared-namespaces.ts';
import { releaseProcess } from './process-end.ts';
import { Refusal } from '../base/refusal.ts';
import {
  emitEvent,
  emitContainerEvent,
  engineTimestamp,
  noSpaceLeft,
  type SandboxContainer,
  type SandboxProcess,
  type World,
} from '../world/world.ts';
import { removeContainer } from './remove.ts';

/**
 * Starts the container's process. A failed start leaves the container as it was, with the exit code 128 and the
 * engine's message; a `--rm` container is deleted.
 */
export function startProcess(world: World, container: SandboxContainer): void {
  try {
    const steps = [setUpNetwork, makeProcess];
    for (const step of world.profile.setsUpNetworkLast ? steps.toReversed() : steps) step(world, container);
  } catch (error) {
    if (error instanceof Refusal) failStart(world, container, error);
    throw error;
  }
  run(world, container);
}

function setUpNetwork(world: World, container: SandboxContainer): void {
  joinSharedNetwork(world, container);
  joinNetworks(world, container);
  checkLinks(container);
  container.hostPorts = claimHostPorts(world, container);
}

function makeProcess(world: World, container: SandboxContainer): void {
  checkNamespaces(world, container);
  container.hostConfig = { Runtime: defaultRuntime, ...container.hostConfig };
  if (container.behaviour.startError !== undefined) throw new Refusal(400, container.behaviour.startError);
  if (world.condition.diskFull && container.state.startedAt === undefined) throw new Refusal(500, noSpaceLeft);
}

/** Ends a process and applies the restart policy. */
export function endProcess(world: World, container: SandboxContainer, exitCode: number): void {
  const { process, hostConfig } = container;
  if (process === undefined) return;
  releaseProcess(world, container, exitCode);
  emitContainerEvent(world, 'die', container, { exitCode: String(exitCode) });
  leaveNetworks(world, container);
  announceVolumes(world, 'unmount', container);
  if (!container.removing && !container.manuallyStopped && restartsByItself(container, exitCode)) {
    scheduleRestart(world, container, process);
    return;
  }
  container.process = undefined;
  process.settle();
  if (hostConfig.AutoRemove === true && !container.removing) removeSoon(world, container);
}

function run(world: World, container: SandboxContainer): void {
  const earlier = container.process;
  const process = createProcess(world, earlier);
  container.process = process;
  container.manuallyStopped = false;
  container.state = {
    status: 'running',
    exitCode: 0,
    error: '',
    startedAt: engineTimestamp(world),
    finishedAt: container.state.finishedAt,
    health: 'none',
    healthOutput: '',
  };
  container.logs.push(...(container.behaviour.logLines ?? []));
  for (const [path, content] of Object.entries(container.behaviour.writes ?? {}))
    writeAsProcess(world, container, path, content);
  announceVolumes(world, 'mount', container);
  emitContainerEvent(world, 'start', container);
  watchHealth(world, container, process);
  const { exitsAfterMs, exitCode = 0 } = container.behaviour;
  if (exitsAfterMs === undefined) return;
  process.callOff.push(world.later.in(exitsAfterMs, () => endProcess(world, container, exitCode)));
}

/** A process that the restart policy starts keeps the previous `ended`, so waits last until its end. */
function createProcess(world: World, earlier: SandboxProcess | undefined): SandboxProcess {
  const startedAtMs = world.clock.monotonicMs();
  if (earlier !== undefined) return { ...earlier, startedAtMs, dying: false, callOff: [] };
  let settle: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (settle = resolve));
  return { ended, settle, startedAtMs, dying: false, callOff: [] };
}

/** True if the engine restarts it after an exit without a stop request. */
export function restartsByItself({ hostConfig, restartCount }: SandboxContainer, exitCode: number): boolean {
  const { Name: name = '', MaximumRetryCount: most = 0 } = hostConfig.RestartPolicy ?? {};
  if (name === 'on-failure') return exitCode !== 0 && (most === 0 || restartCount < most);
  return name === 'always' || name === 'unless-stopped';
}

function scheduleRestart(world: World, container: SandboxContainer, process: SandboxProcess): void {
  const ranMs = world.clock.monotonicMs() - process.startedAtMs;
  container.failuresInARow = ranMs >= steadyAfterMs ? 0 : container.failuresInARow + 1;
  container.restartCount++;
  container.state = { ...container.state, status: 'restarting' };
  const restart = () => {
    try {
      startProcess(world, container);
    } catch {
      container.process = undefined;
      process.settle();
    }
  };
  process.callOff.push(world.later.in(restartDelayMs(container.failuresInARow), restart));
}

/** 100 ms, doubled with every failure, one minute at most: https://docs.docker.com/reference/cli/docker/container/run/#restart */
function restartDelayMs(failuresInARow: number): number {
  return Math.min(100 * 2 ** Math.max(0, failuresInARow - 1), 60_000);
}

/** https://docs.docker.com/engine/containers/start-containers-automatically/ : a start counts as successful after 10 s */
const steadyAfterMs = 10_000;

function removeSoon(world: World, container: SandboxContainer): void {
  container.removing = true;
  world.later.in(autoRemoveMs, () => removeContainer(world, container, { withVolumes: true }));
}

/** A `--rm` container can still be inspected right after its stop; measured: some milliseconds. */
const autoRemoveMs = 5;

/**
 * Exit codes: 127 of a shell for a command that cannot be run, 128 of Docker for a container that cannot
 * be started.
 */
function failStart(world: World, container: SandboxContainer, { message }: Refusal): void {
  const exitCode = container.behaviour.startError === message ? 127 : 128;
  leaveNetworks(world, container);
  container.hostPorts = [];
  container.state = {
    ...container.state,
    status: container.state.startedAt === undefined ? 'created' : 'exited',
    exitCode,
    error: message,
  };
  if (container.hostConfig.AutoRemove === true) removeSoon(world, container);
}

function announceVolumes(world: World, action: 'mount' | 'unmount', container: SandboxContainer): void {
  for (const { point } of container.mounts) {
    if (point.Type === 'volume')
      emitEvent(world, 'volume', action, point.Name ?? '', { container: container.id, driver: 'local' });
  }
}
