import { Refusal } from '../base/refusal.ts';
import type { HostPort, SandboxContainer, World } from '../world/world.ts';

/** The ports of the host that the container takes at its start; refused if one of them is in use. */
export function claimHostPorts(world: World, container: SandboxContainer): readonly HostPort[] {
  const claimed: HostPort[] = [];
  for (const wanted of wantedPorts(container)) {
    const port = wanted.hostPort === 0 ? { ...wanted, hostPort: freePort(world, claimed) } : wanted;
    const taken = [...portsInUse(world), ...claimed].some((other) => collide(port, other));
    if (taken || world.foreignPorts.has(`${port.hostPort}/${protocolOf(port)}`))
      throw alreadyAllocated(world, container, port);
    claimed.push(port);
  }
  return claimed;
}

/** Only exposed ports are published; a binding of another port is ignored silently. */
function wantedPorts({ config, hostConfig, endpoints }: SandboxContainer): readonly HostPort[] {
  if (endpoints.size === 0 || endpoints.has('host') || endpoints.has('none')) return [];
  const ports: HostPort[] = [];
  for (const containerPort of Object.keys(config.ExposedPorts ?? {})) {
    const bindings = hostConfig.PortBindings?.[containerPort] ?? (hostConfig.PublishAllPorts === true ? [{}] : []);
    for (const { HostIp = '', HostPort = '' } of bindings) {
      ports.push({ containerPort, hostIp: HostIp === '' ? '0.0.0.0' : HostIp, hostPort: Number(HostPort || 0) });
    }
  }
  return ports;
}

function* portsInUse(world: World): Generator<HostPort> {
  for (const { hostPorts } of world.containers.values()) yield* hostPorts;
}

function collide(a: HostPort, b: HostPort): boolean {
  const sameAddress = a.hostIp === b.hostIp || a.hostIp === '0.0.0.0' || b.hostIp === '0.0.0.0';
  return sameAddress && a.hostPort === b.hostPort && protocolOf(a) === protocolOf(b);
}

function protocolOf({ containerPort }: HostPort): string {
  return containerPort.split('/')[1] ?? 'tcp';
}

/** The first of the dynamic range of Linux: https://docs.kernel.org/networking/ip-sysctl.html (ip_local_port_range) */
const firstDynamicPort = 32_768;

function freePort(world: World, claimed: readonly HostPort[]): number {
  const used = new Set([...portsInUse(world), ...claimed].map(({ hostPort }) => hostPort));
  let port = firstDynamicPort;
  while (used.has(port)) port++;
  return port;
}

function alreadyAllocated(world: World, container: SandboxContainer, { hostIp, hostPort }: HostPort): Refusal {
  const endpoint = `endpoint ${container.name} (${world.newId('endpoint')})`;
  const why = `Bind for ${hostIp}:${hostPort} failed: port is already allocated`;
  return new Refusal(500, `driver failed programming external connectivity on ${endpoint}: ${why}`);
}
