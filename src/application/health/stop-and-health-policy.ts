import type { StopOptions } from '../../domain/outside/engine.ts';
import type { Container } from '../../domain/container/container.ts';
import { longestWaitMs, type HealthProbe } from '../../domain/settings/values/label-values.ts';
import {
  effectiveSettings,
  labelValuesOf,
  type LabelValues,
  type ServiceSettings,
} from '../../domain/settings/effective-settings.ts';

/**
 * The stop and health settings of one container: from its labels, else from its own configuration, else from the
 * service's settings.
 */
export type StopAndHealthPolicy = {
  readonly stop: StopOptions & { readonly timeoutSeconds: number };
  readonly gateWindowMs: number;
  /** Undefined: calculated from its HEALTHCHECK. */
  readonly gateTimeoutMs: number | undefined;
  readonly healthProbe: HealthProbe;
  /** Its HEALTHCHECK counts for nothing. */
  readonly ignoresHealthcheck: boolean;
};

/** For an unknown container the settings alone count. */
export function stopAndHealthPolicyOf(
  container: Container | undefined,
  settings: ServiceSettings,
): StopAndHealthPolicy {
  const config = container?.settings.Config;
  const wishes: Partial<LabelValues> = container === undefined ? {} : labelValuesOf(container);
  const own = config?.StopTimeout ?? undefined;
  const ownStopTimeoutMs = own === undefined ? settings.stopTimeoutMs : Math.min(own, longestStopSeconds) * 1000;
  const effective = effectiveSettings({ ...settings, stopTimeoutMs: ownStopTimeoutMs }, wishes);
  const seconds = effective.stopTimeoutMs / 1000;
  return {
    stop: {
      timeoutSeconds: seconds < 0 ? endlessStopSeconds : Math.ceil(seconds),
      ...(wishes.stopSignal === undefined ? {} : { signal: wishes.stopSignal }),
    },
    gateWindowMs: effective.gateWindowMs,
    gateTimeoutMs: effective.gateTimeoutMs,
    healthProbe: effective.healthProbe,
    ignoresHealthcheck: wishes.health === 'ignore',
  };
}

/** A stop without a waiting caller may exceed its timeout by two seconds. */
export function longestPendingStopMs({ timeoutSeconds }: StopAndHealthPolicy['stop']): number {
  return (timeoutSeconds + 2) * 1000;
}

/** Replaces a stop without a timeout, which a container may configure. */
const endlessStopSeconds = 600;

/** The stop timeout in a container's own configuration may be years, and may come from the image. */
const longestStopSeconds = longestWaitMs / 1000;
