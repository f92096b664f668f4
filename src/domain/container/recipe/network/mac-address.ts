import { speaksApi } from '../../api-version.ts';
import type { Endpoint } from '../../container.ts';
import type { KnownRequest } from '../request/request.ts';

export type ObservedEndpoint = {
  readonly endpoint: Endpoint;
  /** True for the network that the container was created in. */
  readonly isMain: boolean;
  readonly driver: string | undefined;
};

/**
 * The configured MAC address of an endpoint. Undefined when the engine chose it. Below API 1.44 it is in `Config`. From
 * 1.44 to 1.51 `Config` shows only that of the main network. An endpoint shows the address in use, configured or not;
 * one that is not derived from the IP address is kept. Docker 28 and newer also generate such addresses, so a generated
 * one may become fixed. That is harmless; losing a configured address is not.
 */
export function configuredMacAddress(
  { container, apiVersion }: KnownRequest,
  { endpoint, isMain, driver }: ObservedEndpoint,
): string | undefined {
  if (!speaksApi(apiVersion, '1.44')) return undefined;
  if (isMain && !speaksApi(apiVersion, '1.52')) return container.settings.Config.MacAddress || undefined;
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
