import type { Container } from '../container.ts';
import type { Endpoint } from '../container-settings.ts';
import { configDifferences } from './config.ts';
import { type DifferenceContext, type Difference, compare, compareSecret, ownValue, type Pair } from './difference.ts';
import { hostConfigDifferences } from './host-config.ts';
import { mountDifferences } from './mounts.ts';
import { endpointSysctls } from '../recipe/network/interface-sysctls.ts';
import { defaultBridge } from '../recipe/network/network-mode.ts';

/**
 * Differences between a container and its successor, except values inherited from the new image. Empty for a faithful
 * successor. The successor must be created and connected, but need not run, so an update can be cancelled while the old
 * container runs. Both are read from the engine; the recipe is not used. The name, the state, run-time values of
 * networks, and a restart policy of `no` are not compared.
 */
export function differences(before: Container, after: Container, context: DifferenceContext): readonly Difference[] {
  const pair = { before, after, ...context };
  return [
    ...configDifferences(pair),
    ...hostConfigDifferences(pair),
    ...mountDifferences(pair),
    ...networkDifferences(pair),
  ].slice(0, mostDifferences);
}

/** Each difference is a line of a log, and more lines are of no use. */
const mostDifferences = 50;

/**
 * Both must be connected to the same networks with the same configuration. MAC addresses are not compared: an address
 * in use may be generated.
 */
function networkDifferences({ before, after }: Pair): readonly Difference[] {
  const [old, successor] = [before.settings.Networks, after.settings.Networks];
  const names = new Set([...Object.keys(old), ...Object.keys(successor)]);
  return [...names].flatMap((name) => {
    const [was, is] = [ownValue(old, name), ownValue(successor, name)];
    const field = `Networks.${name}`;
    if (was === undefined || is === undefined) return compare(field, was && 'connected', is && 'connected');
    return [
      // An endpoint that was never connected has no id yet. The default bridge gets a new id with each start of the
      // engine.
      ...(was.NetworkID && is.NetworkID && name !== defaultBridge
        ? compare(`${field}.NetworkID`, was.NetworkID, is.NetworkID)
        : []),
      ...(name === defaultBridge ? [] : compare(`${field}.Aliases`, aliasesOf(before, was), aliasesOf(after, is))),
      ...compare(`${field}.IPAMConfig`, addresses(was), addresses(is)),
      ...compare(`${field}.Links`, was.Links?.toSorted(), is.Links?.toSorted()),
      ...compareSecret(`${field}.DriverOpts`, driverOptions(was), driverOptions(is)),
      ...compare(`${field}.GwPriority`, was.GwPriority ?? 0, is.GwPriority ?? 0),
    ];
  });
}

/** Engines up to 24 add the container's short id and host name once it runs. */
function aliasesOf({ id, settings }: Container, { Aliases }: Endpoint): readonly string[] {
  const added = new Set([id.slice(0, 12), settings.Config.Hostname ?? '']);
  return [...new Set(Aliases ?? [])].filter((alias) => !added.has(alias)).sort();
}

function addresses({ IPAMConfig }: Endpoint): readonly string[] {
  return Object.entries(IPAMConfig ?? {})
    .filter(([, address]) => address !== '' && address !== null)
    .map(([field, address]) => `${field}=${String(address)}`)
    .sort();
}

/** The options without sysctls, which `sysctlDifferences` compares. */
function driverOptions({ DriverOpts }: Endpoint): object {
  return Object.fromEntries(Object.entries(DriverOpts ?? {}).filter(([name]) => name !== endpointSysctls));
}
