import type { Given } from '../given/given.ts';
import { parseHealthProbe } from '../../domain/settings/health-probe.ts';
import type { ServiceSettings, SelfUpdate } from '../../domain/settings/settings.ts';

/**
 * Settings of the service. Names on the command line select the containers that `run` watches; for other
 * commands they are the request's filters.
 */
export function serviceSettings(
  { command, names, values }: Given,
  { servesApi }: { readonly servesApi: boolean },
): ServiceSettings {
  return {
    names: command === 'run' ? names : [],
    labelEnable: values.labelEnable,
    disableContainers: values.disableContainers,
    monitorImageNames: values.monitorImageNames,
    skipImageNames: values.skipImageNames,
    enableContainersByLabel: values.enableContainersByLabel,
    disableContainersByLabel: values.disableContainersByLabel,
    scope: values.scope,
    includeStopped: values.includeStopped,
    includeRestarting: values.includeRestarting,
    reviveStopped: values.reviveStopped,
    monitorOnly: values.monitorOnly,
    noPull: values.noPull,
    labelTakesPrecedence: values.labelTakesPrecedence,
    noRestart: values.noRestart,
    updateAutoRemove: values.updateAutoRemove,
    startFirst: values.startFirst,
    keepOldMs: values.keepOldMs,
    rollingRestart: values.rollingRestart,
    selfUpdate: selfUpdate(command, values, servesApi),
    cleanup: values.cleanup,
    removeVolumes: values.removeVolumes,
    cooldownMs: values.cooldownMs,
    stopTimeoutMs: values.stopTimeoutMs,
    gateWindowMs: values.gateWindowMs,
    gateTimeoutMs: values.gateTimeoutMs,
    healthProbe: parseHealthProbe(values.healthProbe) ?? { kind: 'none' },
    pullTimeoutMs: values.pullTimeoutMs,
    updateConcurrency: values.updateConcurrency,
    checkConcurrency: values.checkConcurrency,
    useComposeDependsOn: values.useComposeDependsOn,
    cpuCopyMode: values.cpuCopyMode,
    disableMemorySwappiness: values.disableMemorySwappiness,
    lifecycleHooks: values.lifecycleHooks,
    lifecycleUserId: values.lifecycleUserId,
    lifecycleGroupId: values.lifecycleGroupId,
  };
}

/** Only the service is begun again by its successor. The HTTP API and published ports together keep it from replacing itself. */
function selfUpdate(
  command: Given['command'],
  { noSelfUpdate, runOnce }: Given['values'],
  servesApi: boolean,
): SelfUpdate {
  if (command !== 'run' || runOnce) return 'not-by-this-command';
  if (noSelfUpdate) return 'off';
  return servesApi ? 'unless-published' : 'on';
}
