import { essential, flag, text } from '../service/parameters.ts';
import { InvalidUrlError, endpointOf, type UrlParts } from '../service/url.ts';
import { redactedUrl, queryPairs, readQuery, unknownKeysOf } from '../service/service.ts';

/** The connection to Home Assistant through its broker. */
export type HomeAssistantSettings = {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
  readonly user: string;
  readonly password: string;
  readonly prefix: string;
  readonly base: string;
  /** Empty: chosen by the service. */
  readonly node: string;
  readonly mayInstall: boolean;
  readonly skipsVerification: boolean;
  /** The URL without its secrets. */
  readonly shown: string;
  readonly unknownKeys: readonly string[];
};

export const homeAssistantForm = 'homeassistant+mqtt://[USER:PASSWORD@]HOST[:PORT] or homeassistant+mqtts://…';

export const homeAssistantParameters = {
  prefix: text('discovery prefix of Home Assistant', { fallback: 'homeassistant' }),
  base: text("first level of Upkeep's own topics", { fallback: 'upkeep' }),
  node: text(
    'name of this Upkeep in topics and ids; by default an id in the folder of `--state-dir`, else the names of engine and own container, or the host name outside of a container',
  ),
  install: essential(flag('buttons may update containers', false)),
  disabletlsverification: essential(flag('accept any certificate', false)),
};

/** Throws an `InvalidUrlError`. */
export function readHomeAssistant(parts: UrlParts): HomeAssistantSettings {
  if (parts.variant !== 'mqtt' && parts.variant !== 'mqtts')
    throw new InvalidUrlError('the scheme', 'has no +mqtt or +mqtts');
  const isSecure = parts.variant === 'mqtts';
  const endpoint = endpointOf(parts, isSecure ? 8883 : 1883);
  if (parts.segments.length > 0) throw new InvalidUrlError('the path', 'is not used; give prefix= and base=');
  const query = readQuery(homeAssistantParameters, parts.query);
  const { prefix, base, node, install, disabletlsverification } = query.values;
  for (const [key, value] of Object.entries({ prefix, base }))
    if (!/^[\w-]+(?:\/[\w-]+)*$/.test(value)) throw new InvalidUrlError(`the key "${key}"`, 'is no topic');
  return {
    ...endpoint,
    isSecure,
    user: parts.user,
    password: parts.password,
    prefix,
    base,
    node,
    mayInstall: install,
    skipsVerification: disabletlsverification,
    shown: redactedUrl({ ...parts, query: queryPairs(homeAssistantParameters, query) }, [parts.password]),
    unknownKeys: unknownKeysOf(query),
  };
}
