import type { StopOptions } from '../../domain/outside/engine-writer.ts';
import type { Container } from '../../domain/container/container.ts';
import type { HealthProbe } from '../../domain/settings/health-probe.ts';
import { longestWaitMs } from '../../domain/settings/label-values.ts';
import { wishesOf } from '../../domain/settings/labels.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';

/** How one container is stopped and proven: its labels, else its own configuration, else the service's settings. */
export type Manners = {
  readonly stop: StopOptions & { readonly timeoutSeconds: number };
  readonly gateWindowMs: number;
  /** Undefined: from the numbers of its HEALTHCHECK. */
  readonly gateTimeoutMs: number | undefined;
  readonly healthProbe: HealthProbe;
};

/** An unknown container is treated by the settings alone. */
export function mannersOf(container: Container | undefined, settings: ServiceSettings): Manners {
  const config = container?.settings.Config;
  const wishes = container === undefined ? undefined : wishesOf(container);
  const own = config?.StopTimeout ?? undefined;
  const seconds =
    wishes?.stopTimeoutMs === undefined
      ? own === undefined
        ? settings.stopTimeoutMs / 1000
        : Math.min(own, longestStopSeconds)
      : wishes.stopTimeoutMs / 1000;
  return {
    stop: {
      timeoutSeconds: seconds < 0 ? endlessStopSeconds : Math.ceil(seconds),
      ...(wishes?.stopSignal === undefined ? {} : { signal: wishes.stopSignal }),
    },
    gateWindowMs: wishes?.gateWindowMs ?? settings.gateWindowMs,
    gateTimeoutMs: wishes?.gateTimeoutMs ?? settings.gateTimeoutMs,
    healthProbe: wishes?.healthProbe ?? settings.healthProbe,
  };
}

/** A container that asks to be waited for without end is waited for this long, because an update must come to an end. */
const endlessStopSeconds = 600;

/** The container's own configuration may name years, and comes from the image as well. */
const longestStopSeconds = longestWaitMs / 1000;
