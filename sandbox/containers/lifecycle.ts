import { constants } from 'node:os';
import type { StopOptions } from '../../src/domain/outside/engine-writer.ts';
import type { RestartPolicy } from '../../src/domain/container/container-settings.ts';
import { checkRestartPolicy } from './create-body.ts';
import { endProcess, startProcess } from './processes.ts';
import { Refusal } from '../base/refusal.ts';
import { killed } from './remove.ts';
import { emitContainerEvent, type SandboxContainer, type World } from '../world/world.ts';

export type Done = 'done' | 'noop';

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
