import type { Container } from '../../domain/container/container.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { addressIn, probeRoute, type ProbeRoute } from '../../domain/health/probe-route.ts';

type FoundRoute = { readonly holder: Container; readonly route: ProbeRoute };

/** The route from this process to the container whose network the probed container uses. */
export async function findRoute(outside: Outside, container: Container, signal?: AbortSignal): Promise<FoundRoute> {
  const { engine, instance } = outside;
  const [{ containerReach }, networks, holder, self] = await Promise.all([
    engine.info(signal),
    engine.listNetworks(signal),
    holderOfNetwork(outside, container, signal),
    instance.containerId === undefined ? undefined : engine.inspectContainer(instance.containerId, signal),
  ]);
  const own = self && (await holderOfNetwork(outside, self, signal));
  const route = probeRoute(holder, {
    own,
    isElsewhere: instance.containerId !== undefined && own === undefined,
    reach: containerReach,
    drivers: new Map(networks.map(({ name, driver }) => [name, driver])),
  });
  return { holder, route };
}

/** The container itself, or the one whose network it shares. */
async function holderOfNetwork({ engine }: Outside, container: Container, signal?: AbortSignal): Promise<Container> {
  let holder = container;
  for (let steps = 0; steps < mostSteps; steps += 1) {
    const target = /^container:(.+)$/.exec(holder.settings.HostConfig.NetworkMode ?? '')?.[1];
    const next = target === undefined ? undefined : await engine.inspectContainer(target, signal);
    if (next === undefined) break;
    holder = next;
  }
  return holder;
}

/** Engines allow chains of shared networks. Longer chains are not in use. */
const mostSteps = 4;

export function addressOf(holder: Container, route: ProbeRoute): string | undefined {
  if (route.kind === 'none') return undefined;
  return route.kind === 'loopback' ? '127.0.0.1' : addressIn(holder, route.names);
}
