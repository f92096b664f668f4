import { parseJson, isJsonObject } from '../../../domain/text/json-value.ts';
import type { ContainerRecipe } from '../../../domain/container/recipe/request/request.ts';
import { journalPrefix } from '../../../domain/container/label-names.ts';
import { fields, text } from '../transport/json-fields.ts';
import { defaultNetwork } from './docker-form.ts';
import type { ChosenAddress } from './command-line.ts';

/** The label that stores the requested addresses of a container that we create. Podman does not report them. */
const addressesLabel = `${journalPrefix}addresses`;

/** The body of a create request, with the addresses label and Podman's name for Docker's `bridge` network. */
export function bodyForPodman({ body, laterEndpoints }: ContainerRecipe): Readonly<Record<string, unknown>> {
  const atCreate = Object.entries(fields(fields(body['NetworkingConfig'])['EndpointsConfig']));
  const later = laterEndpoints.map(({ networkName, endpoint }) => [networkName, endpoint] as const);
  const asked = [...atCreate, ...later].flatMap(([name, endpoint]) => {
    const { IPAMConfig } = fields(endpoint);
    return isJsonObject(IPAMConfig) ? [[name, IPAMConfig] as const] : [];
  });
  const recorded = { [addressesLabel]: JSON.stringify(Object.fromEntries(asked)) };
  const EndpointsConfig = Object.fromEntries(
    atCreate.map(([name, endpoint]) => [name === 'bridge' ? defaultNetwork : name, endpoint]),
  );
  return { ...body, Labels: { ...fields(body['Labels']), ...recorded }, NetworkingConfig: { EndpointsConfig } };
}

/** Undefined for a container that we did not create. Labels are untrusted text. */
export function recordedAddresses(labels: unknown): ReadonlyMap<string, ChosenAddress> | undefined {
  const label = text(fields(labels)[addressesLabel]);
  if (label === '' || label.length > longestLabel) return undefined;
  const recorded = parseJson(label);
  if (!isJsonObject(recorded)) return undefined;
  return new Map(Object.entries(recorded).map(([name, chosen]) => [name, addressOf(chosen)]));
}

const longestLabel = 65_536;

function addressOf(chosen: unknown): ChosenAddress {
  const { IPv4Address, IPv6Address } = fields(chosen);
  return {
    ...(text(IPv4Address) !== '' && { IPv4Address: text(IPv4Address) }),
    ...(text(IPv6Address) !== '' && { IPv6Address: text(IPv6Address) }),
  };
}
