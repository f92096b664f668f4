import { leaveNetworks } from '../networks/networks.ts';
import { engineTimestamp, type SandboxContainer, type World } from '../world/world.ts';

/** The end without a word to anyone: the power went, or the engine was not there to see it. */
export function loseProcess(world: World, container: SandboxContainer, exitCode: number): void {
  const { process } = container;
  if (process === undefined) return;
  releaseProcess(world, container, exitCode);
  leaveNetworks(world, container);
  container.process = undefined;
  process.settle();
}

/** Calls off what the process would still have done; its ports are free. Docker shows `unhealthy` once nobody probes any more. */
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
