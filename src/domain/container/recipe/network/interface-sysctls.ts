import { supportsApi } from '../../api-version.ts';
import { hasEndpoints } from './network-mode.ts';
import { type KnownRequest, refusal } from '../request/request.ts';

/** The driver option of an endpoint that takes sysctls of its interface: https://docs.docker.com/reference/cli/docker/container/run/#sysctl */
export const endpointSysctls = 'com.docker.network.endpoint.sysctls';

/**
 * From API 1.48 the engine accepts sysctls of one interface (`net.ipv4.conf.eth0.…`) only as an option of its endpoint,
 * but an older container still has them. An interface can be assigned to its network only if there is one network.
 */
export function splitSysctls(request: KnownRequest): { readonly kept: unknown; readonly moved: readonly string[] } {
  const { container, apiVersion } = request;
  const sysctls = container.settings.HostConfig['Sysctls'];
  const entries = Object.entries((sysctls as Record<string, string> | null | undefined) ?? {});
  const moved = entries.flatMap(([name, value]) => interfaceSysctl(name, value) ?? []);
  if (moved.length === 0 || !supportsApi(apiVersion, '1.48') || !hasEndpoints(container)) {
    return { kept: sysctls, moved: [] };
  }
  if (Object.keys(container.settings.Networks).length !== 1) {
    throw refusal(
      container,
      'it has sysctls of a network interface, and it is not known which of its networks they belong to',
    );
  }
  return { kept: Object.fromEntries(entries.filter(([name]) => !interfacePattern.test(name))), moved };
}

const interfacePattern = /^net\.([^.]+)\.([^.]+)\.eth\d+\.(.+)$/;

/** `net.ipv4.conf.IFNAME.log_martians=1`; undefined for a sysctl of the whole container. */
export function interfaceSysctl(name: string, value: string): string | undefined {
  const [, family, group, key] = interfacePattern.exec(name) ?? [];
  return key === undefined ? undefined : `net.${family}.${group}.IFNAME.${key}=${value}`;
}
