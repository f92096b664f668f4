import { supportsApi } from '../../api-version.ts';
import type { Container } from '../../container.ts';
import type { Endpoint } from '../../container-settings.ts';
import type { KnownRequest } from '../request/request.ts';
import { isMainNetwork } from './network-mode.ts';

type ObservedEndpoint = {
  readonly endpoint: Endpoint;
  /** True for the network that the container was created in. */
  readonly isMain: boolean;
  readonly driver: string | undefined;
};

/**
 * The configured MAC address of an endpoint. Undefined when the engine chose it. Below API 1.44 it is in `Config`. From
 * 1.44 to 1.51 `Config` has the main network's address. An endpoint shows the address in use, configured or not; it is
 * kept unless it is derived from the IP address. Docker 28 and newer also generate underived addresses, so a generated
 * one may become fixed. That is harmless; losing a configured address is not.
 */
export function configuredMacAddress(
  { container, apiVersion }: KnownRequest,
  { endpoint, isMain, driver }: ObservedEndpoint,
): string | undefined {
  if (!supportsApi(apiVersion, '1.44')) return undefined;
  if (isMain && !supportsApi(apiVersion, '1.52')) return container.settings.Config.MacAddress || undefined;
  const { MacAddress = '' } = endpoint;
  return MacAddress === '' || !driversThatTakeOne.has(driver ?? '') || isDerived(endpoint) ? undefined : MacAddress;
}

/** Other drivers refuse an address (ipvlan) or derive their own (overlay). */
const driversThatTakeOne: ReadonlySet<string> = new Set(['bridge', 'macvlan']);

/** `02:42:` and the IPv4 address: https://github.com/moby/moby/blob/v27.0.0/libnetwork/netutils/utils.go */
function isDerived({ MacAddress = '', IPAddress }: Endpoint): boolean {
  const bytes = String(IPAddress)
    .split('.')
    .map((part) => Number(part).toString(16).padStart(2, '0'));
  return MacAddress.toLowerCase() === ['02', '42', ...bytes].join(':');
}

/**
 * The network in which a successor may get the same address as the running container. Undefined on engines below API
 * 1.44, which do not show `DNSNames`: their successors repeat the main network's address only.
 */
export function networkOfRepeatedMac(container: Container): string | undefined {
  return Object.entries(container.settings.Networks).find(
    ([name, endpoint]) =>
      'DNSNames' in endpoint &&
      !isMainNetwork(container, name, endpoint.NetworkID) &&
      (endpoint.MacAddress ?? '') !== '' &&
      !isDerived(endpoint),
  )?.[0];
}
