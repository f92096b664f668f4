import { constants } from 'node:os';
import type { StopOptions, CommandOutcome, ContainerCommand } from '../../src/domain/outside/engine.ts';
import { isAlive, type RestartPolicy } from '../../src/domain/container/container.ts';
import { checkRestartPolicy, defaultRuntime } from './create-body.ts';
import { Refusal } from '../base/simulation.ts';
import {
  emitContainerEvent,
  watchHealth,
  emitEvent,
  engineTimestamp,
  noSpaceLeft,
  engineNowMs,
  type SandboxContainer,
  type World,
  type SandboxProcess,
} from '../world/world.ts';
import { writeAsProcess } from './files.ts';
import {
  claimHostPorts,
  joinNetworks,
  leaveNetworks,
  checkLinks,
  joinSharedNetwork,
  checkNamespaces,
} from '../world/networks.ts';
import type { CommandBehaviour } from '../base/behaviour.ts';
import { dataHelperOf } from './data-helper.ts';
import { removeOrphanedVolumes } from '../world/lookup.ts';

type Done = 'done' | 'noop';

/** `POST /containers/{id}/start`; resets the manual stop. */
export function startContainer(world: World, container: SandboxContainer): Done {
  const { status } = container.state;
  if (status === 'paused') throw new Refusal(409, 'cannot start a paused container, try unpause instead');
  if (container.process !== undefined) return 'noop';
  if (container.removing || status === 'dead')
    throw new Refusal(409, 'container is marked for removal and cannot be started');
  container.restartCount = 0;
  container.failuresInARow = 0;
  startProcess(world, container);
  return 'done';
}

/**
 * `POST /containers/{id}/stop`: signals, waits, kills. The container counts as running until the process is dead, even
 * after the caller disconnects.
 */
export async function stopContainer(world: World, container: SandboxContainer, options: StopOptions): Promise<Done> {
  const { process } = container;
  if (process === undefined) return 'noop';
  container.manuallyStopped = true;
  if (container.state.status === 'restarting') endRestarting(container);
  else signalToStop(world, container, options);
  await process.ended;
  emitContainerEvent(world, 'stop', container);
  return 'done';
}

/** `POST /containers/{id}/restart`: a stopped container is only started. */
export async function restartContainer(world: World, container: SandboxContainer, options: StopOptions): Promise<void> {
  await stopContainer(world, container, options);
  startContainer(world, container);
}

/** `POST /containers/{id}/update`: an empty name changes nothing. */
export function updateRestartPolicy(world: World, container: SandboxContainer, policy: RestartPolicy): void {
  checkRestartPolicy(policy.Name, policy.MaximumRetryCount);
  if (policy.Name === '') return;
  if (container.hostConfig.AutoRemove === true && policy.Name !== 'no')
    throw new Refusal(
      409,
      `Cannot update container ${container.id}: Restart policy cannot be updated because AutoRemove is enabled for the container`,
    );
  container.hostConfig = { ...container.hostConfig, RestartPolicy: policy };
  emitContainerEvent(world, 'update', container);
}

/**
 * Docker's default time between the stop signal and the kill:
 * https://docs.docker.com/reference/cli/docker/container/stop/
 */
const defaultStopSeconds = 10;

function signalToStop(world: World, container: SandboxContainer, { timeoutSeconds, signal }: StopOptions): void {
  const { process, config, behaviour } = container;
  if (process === undefined) return;
  const chosen = world.profile.stopTakesSignal ? signal : undefined;
  const number = signalNumber(chosen ?? config.StopSignal ?? 'SIGTERM');
  emitContainerEvent(world, 'kill', container, { signal: number });
  if (number === '9') return endProcess(world, container, killed);
  if (behaviour.ignoresTerm !== true && !process.dying) {
    process.dying = true;
    const { stopMs = 0, stopExitCode = 0 } = behaviour;
    if (stopMs === 0) return endProcess(world, container, stopExitCode);
    process.callOff.push(world.later.in(stopMs, () => endProcess(world, container, stopExitCode)));
  }
  const patienceMs = (timeoutSeconds ?? config.StopTimeout ?? defaultStopSeconds) * 1000;
  const kill = () => {
    emitContainerEvent(world, 'kill', container, { signal: '9' });
    endProcess(world, container, killed);
  };
  process.callOff.push(world.later.in(patienceMs, kill));
}

/** Between two restarts by the policy there is no process to signal. */
function endRestarting(container: SandboxContainer): void {
  const { process } = container;
  for (const callOff of process?.callOff.splice(0) ?? []) callOff();
  container.state = { ...container.state, status: 'exited' };
  container.process = undefined;
  process?.settle();
}

/** `TERM` and `SIGTERM` are 15. */
function signalNumber(name: string): string {
  const numbers: Readonly<Record<string, number>> = constants.signals;
  return String(numbers[name.startsWith('SIG') ? name : `SIG${name}`] ?? name);
}

/**
 * Starts the container's process. A failed start leaves the container as it was, with the exit code 128 and the
 * engine's message; a `--rm` container is deleted.
 */
function startProcess(world: World, container: SandboxContainer): void {
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
  const helper = dataHelperOf(world, container);
  if (helper !== undefined) {
    helper.begin();
    process.callOff.push(world.later.in(helper.tookMs, () => endProcess(world, container, helper.end())));
    return;
  }
  writeToVolumes(world, container);
  const { exitsAfterMs, exitCode = 0 } = container.behaviour;
  if (exitsAfterMs === undefined) return;
  process.callOff.push(world.later.in(exitsAfterMs, () => endProcess(world, container, exitCode)));
}

function writeToVolumes({ volumes }: World, { behaviour, mounts }: SandboxContainer): void {
  if (behaviour.marksVolumes === undefined) return;
  for (const { point } of mounts) {
    const volume = volumes.get(point.Name ?? '');
    if (volume !== undefined && point.RW !== false) volume.marker += ` ${behaviour.marksVolumes}`;
  }
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
function restartsByItself({ hostConfig, restartCount }: SandboxContainer, exitCode: number): boolean {
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

/** Ends the process without an event: after a power cut, or while the engine is down. */
function endProcessSilently(world: World, container: SandboxContainer, exitCode: number): void {
  const { process } = container;
  if (process === undefined) return;
  releaseProcess(world, container, exitCode);
  leaveNetworks(world, container);
  container.process = undefined;
  process.settle();
}

/** Cancels the timers of the process and frees its ports. Docker shows `unhealthy` after the probes have ended. */
function releaseProcess(world: World, container: SandboxContainer, exitCode: number): void {
  for (const callOff of container.process?.callOff.splice(0) ?? []) callOff();
  container.hostPorts = [];
  const { health, ...state } = container.state;
  container.state = {
    ...state,
    status: 'exited',
    exitCode,
    finishedAt: engineTimestamp(world),
    health: health === 'none' ? 'none' : 'unhealthy',
  };
}

/** `POST /containers/{id}/exec`, its start and its end. The command continues if its caller disconnects. */
export async function runCommand(
  world: World,
  container: SandboxContainer,
  request: ContainerCommand,
  signal: AbortSignal | undefined,
): Promise<CommandOutcome> {
  const { command, environment, user } = request;
  const { name, id, process } = container;
  if (process === undefined) throw new Refusal(409, `Container ${id} is not running`);
  if (container.state.status !== 'running')
    throw new Refusal(409, `Container ${id} is ${container.state.status}, ${wait}`);
  world.executions.push({ container: name, containerId: id, command, environment, user });
  const { exitCode = 0, output = '', tookMs = 0, hangs = false } = scriptOf(container, command);
  const tail = output.slice(-maxOutput);

  const over = new AbortController();
  const stopped = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
  const later = async (ms: number, outcome: CommandOutcome): Promise<CommandOutcome> => {
    await world.clock.sleep(ms, stopped);
    return outcome;
  };
  const ends: Promise<CommandOutcome>[] = [
    later(request.timeoutMs, { kind: 'timed-out', output: tail }),
    process.ended.then(() => ({ kind: 'ended', exitCode: killed, output: tail })),
  ];
  if (!hangs)
    ends.unshift(tookMs === 0 ? ended(exitCode, tail) : later(tookMs, { kind: 'ended', exitCode, output: tail }));
  for (const end of ends) end.catch(() => undefined);
  try {
    return await Promise.race(ends);
  } finally {
    over.abort();
  }
}

const wait = 'wait until the container is running';

const maxOutput = 65_536;

function scriptOf({ behaviour }: SandboxContainer, command: readonly string[]): CommandBehaviour {
  const [program = '', option, line = ''] = command;
  const isShell = program === 'sh' && option === '-c';
  if (!isShell || behaviour.shellless === true) return missing(program);
  const { commands = {} } = behaviour;
  const known = Object.hasOwn(commands, line) ? commands[line] : undefined;
  return known ?? { exitCode: 127, output: `sh: ${line}: not found\n` };
}

/** Error text of runc; Docker answers it with the exit code 126 or 127. */
function missing(program: string): CommandBehaviour {
  const why = `exec: "${program}": executable file not found in $PATH: unknown`;
  return {
    exitCode: 126,
    output: `OCI runtime exec failed: exec failed: unable to start container process: ${why}\r\n`,
  };
}

async function ended(exitCode: number, output: string): Promise<CommandOutcome> {
  return { kind: 'ended', exitCode, output };
}

/** Kills the process and deletes the container. Removes its volumes only on request, and none in use. */
export function removeContainer(
  world: World,
  container: SandboxContainer,
  { withVolumes }: { readonly withVolumes: boolean },
): void {
  if (world.containers.get(container.id) !== container) return;
  if (container.process !== undefined) {
    container.removing = true;
    emitContainerEvent(world, 'kill', container, { signal: '9' });
    endProcessSilently(world, container, killed);
    emitContainerEvent(world, 'die', container, { exitCode: String(killed) });
  }
  world.containers.delete(container.id);
  if (world.names.get(container.name) === container.id) world.names.delete(container.name);
  if (withVolumes) removeOrphanedVolumes(world, container.mounts);
  emitContainerEvent(world, 'destroy', container);
}

/** `docker container prune`: removes all stopped containers, then sends an event. */
export function pruneContainers(world: World): void {
  for (const container of world.containers.values()) {
    if (!isAlive(container.state.status)) removeContainer(world, container, { withVolumes: false });
  }
  world.prunedAtMs.push(engineNowMs(world));
  emitEvent(world, 'container', 'prune', '', { reclaimed: '0' });
}

/** 128 + SIGKILL: https://tldp.org/LDP/abs/html/exitcodes.html */
const killed = 137;

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
 * (`test/contract/boot.ts`): https://docs.docker.com/engine/containers/start-containers-automatically/ An engine that
 * lost its power a second time while it was down is started twice, and runs once.
 */
export function startEngine(world: World): void {
  const { condition, profile } = world;
  if (condition.up) return;
  const survivors = new Set([...world.containers.values()].filter(({ process }) => process !== undefined));
  for (const container of world.containers.values()) {
    if (!world.liveRestore) shutDownSurvivor(world, container);
    const isKept = survivors.has(container) && world.liveRestore && !profile.liveRestoreDeletesAutoRemove;
    if (container.hostConfig.AutoRemove === true && !isKept) removeContainer(world, container, { withVolumes: false });
  }
  for (const container of world.containers.values()) {
    if (container.process === undefined && restartsAtBoot(container)) tryToStart(world, container);
  }
  condition.up = true;
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
