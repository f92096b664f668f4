import type { ServiceSettings, SelfUpdate } from '../../domain/settings/effective-settings.ts';
import { serviceOptionEntries, type ServiceOptionValues } from '../../domain/settings/table/service-options.ts';
import { timeZoneOf } from '../schedule/local-time-zone.ts';
import type { Given } from '../given/given-options.ts';

/**
 * Settings of the service. Names on the command line select the containers that `run` watches; for other
 * commands they are the request's filters.
 */
export function serviceSettings(
  { command, names, values }: Given,
  { servesApi }: { readonly servesApi: boolean },
): ServiceSettings {
  return {
    // Each key of the table with the value of its option.
    ...(Object.fromEntries(serviceOptionEntries.map(([key]) => [key, values[key]])) as ServiceOptionValues),
    names: command === 'run' ? names : [],
    selfUpdate: selfUpdate(command, values, servesApi),
    timeZone: timeZoneOf(values),
  };
}

/** Only `run` is started again by a successor. With the HTTP API and published ports it cannot replace itself. */
function selfUpdate(
  command: Given['command'],
  { noSelfUpdate, runOnce }: Given['values'],
  servesApi: boolean,
): SelfUpdate {
  if (command !== 'run' || runOnce) return 'not-by-this-command';
  if (noSelfUpdate) return 'off';
  return servesApi ? 'unless-published' : 'on';
}
