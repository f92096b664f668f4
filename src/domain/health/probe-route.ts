import type { EngineInfo } from '../outside/engine.ts';
import type { Container } from '../container/container.ts';
import { hasHostNetwork } from '../container/recipe/networks.ts';

/** The position from which a container is probed. */
export type ProbeOrigin = {
  /** The container whose network this process uses. Undefined outside of the engine's containers. */
  readonly own: Container | undefined;
  /** This process runs in a container of another engine. */
  readonly isElsewhere: boolean;
  readonly reach: EngineInfo['containerReach'];
  /** Drivers of networks, by name. */
  readonly drivers: ReadonlyMap<string, string>;
};

/** Address for a container's probe. `why` is a clause about the obstacle, `remedy` the advice. */
export type ProbeRoute =
  | { readonly kind: 'loopback' }
  /** The first address that one of these networks gave it. */
  | { readonly kind: 'networks'; readonly names: readonly string[] }
  | { readonly kind: 'none'; readonly why: string; readonly remedy: string };

/** Finds an address of `holder`, the container whose network is probed. */
export function probeRoute(holder: Container, { own, isElsewhere, reach, drivers }: ProbeOrigin): ProbeRoute {
  if (own?.id === holder.id) return { kind: 'loopback' };
  if (own === undefined && isElsewhere) return none('Upkeep runs in a container of another engine', useExec);
  if (own === undefined && reach !== 'direct') return none(obstacles[reach], useExec);
  const isOnHost = own === undefined || hasHostNetwork(own);
  if (hasHostNetwork(holder)) {
    return isOnHost ? { kind: 'loopback' } : none('it uses the network of the host, and Upkeep does not', useExec);
  }
  const names = Object.keys(holder.settings.Networks).filter((name) => name !== 'none');
  const near = names.filter((name) => isShared(own, name) || (isOnHost && drivers.get(name) === 'bridge'));
  if (near.length > 0) return { kind: 'networks', names: near };
  if (names.length === 0) return none('it has no network', useExec);
  return isOnHost
    ? none('the host has no address in any of its networks', useExec)
    : none('Upkeep is in none of its networks', `connect Upkeep to one of them, or ${useExec}`);
}

/** The container's address in the first of these networks that has given it one. Undefined before its start. */
export function addressIn(holder: Container, names: readonly string[]): string | undefined {
  for (const name of names) {
    const { IPAddress, GlobalIPv6Address } = holder.settings.Networks[name] ?? {};
    for (const address of [IPAddress, GlobalIPv6Address])
      if (typeof address === 'string' && address !== '') return address;
  }
  return undefined;
}

const useExec = 'use a probe that begins with exec:, which runs in the container';

const obstacles = {
  remote: 'the engine is on another host',
  rootless: 'the engine is rootless, and its networks are not those of this host',
  'virtual-machine': 'the engine is in a virtual machine, and its networks are not those of this host',
} as const satisfies Record<Exclude<EngineInfo['containerReach'], 'direct'>, string>;

function isShared(own: Container | undefined, network: string): boolean {
  return own !== undefined && Object.hasOwn(own.settings.Networks, network);
}

function none(why: string, remedy: string): ProbeRoute {
  return { kind: 'none', why, remedy };
}
