import { endpointsFor, endpointSysctls, defaultBridge } from './networks.ts';
import { hostConfigFor, hostConfigDifferences } from './host-config.ts';
import { ownConfig, configDifferences } from './config.ts';
import {
  refusal,
  type KnownRequest,
  type RecipeRequest,
  type ContainerRecipe,
  type Endpoint,
} from '../container-settings.ts';
import { normalisePlatform, type Platform } from '../../image/platform.ts';
import type { Container } from '../container.ts';
import { compare, compareSecret, ownValue, type DifferenceContext, type Difference, type Pair } from './difference.ts';
import { mountDifferences } from './volumes.ts';

/**
 * The container's settings without the values inherited from its old image, so that it inherits the new image's:
 * https://docs.docker.com/reference/api/engine/#tag/Container/operation/ContainerCreate. Unknown fields are copied. The
 * restart policy is `no`, and the commit sets the real one if the engine can change it. Throws `invalid-input` for a
 * container that cannot be reproduced.
 */
export function recipeFor(request: RecipeRequest): ContainerRecipe {
  const { obstacle } = request.container.settings;
  if (obstacle !== undefined) throw refusal(request.container, `it ${obstacle}`);
  const known = withOldImage(request);
  const endpoints = endpointsFor(known);
  const body = {
    ...ownConfig(known),
    HostConfig: hostConfigFor(known),
    NetworkingConfig: { EndpointsConfig: endpoints.atCreate },
  };
  return { body, laterEndpoints: endpoints.later, ...platformFor(known) };
}

/** Without the old image's defaults every setting would count as the user's and stay fixed for ever. */
function withOldImage(request: RecipeRequest): KnownRequest {
  const { container, oldImage } = request;
  if (oldImage === undefined) {
    throw refusal(
      container,
      'the image it was created from is gone from the engine, so its own settings cannot be distinguished from the image’s',
      'pull that image again, or re-create the container from its compose file or command',
    );
  }
  if (oldImage.isConfigUnknown) {
    throw refusal(
      container,
      'the engine does not know the configuration of the image it was created from, so its own settings cannot be distinguished from the image’s',
      're-create the container from its compose file or command',
    );
  }
  return { ...request, oldImage };
}

/** If the container runs under emulation or on a related platform, the successor must keep that platform. */
function platformFor({ container, oldImage, enginePlatform }: KnownRequest): { readonly platform?: Platform } {
  const { os, architecture, variant } = container.platform ?? oldImage;
  if (os === '' || architecture === '') return {};
  const platform = { os, architecture, variant };
  const [image, engine] = [normalisePlatform(platform), normalisePlatform(enginePlatform)];
  const sameMachine = image.os === engine.os && image.architecture === engine.architecture;
  return sameMachine ? {} : { platform };
}

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
  ].slice(0, maxDifferences);
}

/** Each difference is a line of a log, and more lines are of no use. */
const maxDifferences = 50;

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
