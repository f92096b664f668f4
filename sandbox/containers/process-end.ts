import { leaveNetworks } from '../networks/networks.ts';
import { engineTimestamp, type SandboxContainer, type World } from '../world/world.ts';

/** Ends the process without an event: after a power cut, or while the engine is down. */
export function endProcessSilently(world: World, container: SandboxContainer, exitCode: number): void {
  const { process } = container;
  if (process === undefined) return;
  releaseProcess(world, container, exitCode);
  leaveNetworks(world, container);
  container.process = undefined;
  process.settle();
}

/** Cancels the timers of the process and frees its ports. Docker shows `unhealthy` after the probes have ended. */
export function releaseProcess(world: World, container: SandboxContainer, exitCode: number): void {
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
