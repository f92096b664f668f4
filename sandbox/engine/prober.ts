import type { ProbeResult, Prober, ProbeRequest } from '../../src/domain/outside/outside.ts';
import type { ListenBehaviour } from '../base/behaviour.ts';
import { findContainer } from '../world/lookup.ts';
import type { SandboxContainer, World } from '../world/world.ts';

/** The container with the address answers a probe, or a container that shares its network. */
export function createSandboxProber(world: World): Prober {
  return {
    probe: async (question, signal) => {
      signal?.throwIfAborted();
      const holder = [...world.containers.values()].find((container) => hasAddress(container, question.address));
      if (holder === undefined) return silent('there is no route to its address (EHOSTUNREACH)');
      const listener = listenersOf(world, holder).find(({ port }) => port === question.port);
      if (listener === undefined) return silent('nobody listens on the port (ECONNREFUSED)');
      return answer(world, listener, question, signal);
    },
  };
}

async function answer(
  world: World,
  { status }: ListenBehaviour,
  { path, timeoutMs }: ProbeRequest,
  signal: AbortSignal | undefined,
): Promise<ProbeResult> {
  if (path === undefined) return { kind: 'accepted' };
  if (status !== undefined) return { kind: 'status', status };
  await world.clock.sleep(timeoutMs, signal);
  return silent('there was no answer in time');
}

/** The host's own network has the address 127.0.0.1. */
function hasAddress({ process, hostConfig, endpoints }: SandboxContainer, address: string): boolean {
  if (process === undefined) return false;
  if (hostConfig.NetworkMode === 'host') return address === '127.0.0.1';
  return [...endpoints.values()].some(({ IPAddress }) => IPAddress === address);
}

function listenersOf(world: World, holder: SandboxContainer): readonly ListenBehaviour[] {
  const { clock } = world;
  const together = [...world.containers.values()].filter((container) => networkOf(world, container) === holder);
  return together.flatMap(({ process, state, behaviour }) => {
    if (process === undefined || state.status !== 'running') return [];
    const upMs = clock.monotonicMs() - process.startedAtMs;
    return (behaviour.listens ?? []).filter(({ afterMs = 0 }) => upMs >= afterMs);
  });
}

function networkOf(world: World, container: SandboxContainer): SandboxContainer {
  const target = /^container:(.+)$/.exec(container.hostConfig.NetworkMode ?? '')?.[1];
  return (target === undefined ? undefined : findContainer(world, target)) ?? container;
}

function silent(reason: string): ProbeResult {
  return { kind: 'silent', reason };
}
