import type { Outside } from '../../domain/outside/outside.ts';
import { publishesPorts } from '../../domain/self-update/self-update.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';

/** Whether this Upkeep replaces its own container: by the settings and, with the HTTP API on, by the container's ports. */
export function createSelfUpdateState(
  { engine, instance, log }: Pick<Outside, 'engine' | 'instance' | 'log'>,
  { selfUpdate }: Pick<ServiceSettings, 'selfUpdate'>,
) {
  let isOn = false;

  return {
    isOn: () => isOn,
    /** Asks the engine if needed. Logs the obstacle to a self-update. */
    async look(signal?: AbortSignal): Promise<void> {
      const { containerId, isMainProcess } = instance;
      const isPossible = selfUpdate === 'on' || selfUpdate === 'unless-published';
      if (containerId === undefined || !isMainProcess || !isPossible || signal?.aborted) return;
      const own = await engine.inspectContainer(containerId, signal);
      if (own === undefined) return;
      isOn = selfUpdate === 'on' || !publishesPorts(own);
      if (!isOn) log.info('Self-update is off, because the HTTP API is on and the container publishes ports');
    },
  };
}
