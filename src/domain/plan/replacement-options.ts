import type { EngineAbilities } from '../outside/engine.ts';
import type { Container } from '../container/container.ts';
import { effectiveSettings, labelValuesOf, type ServiceSettings } from '../settings/effective-settings.ts';
import type { PlannedMember } from './planned-transaction.ts';

/**
 * The time for which a replaced container is kept. 0: it is removed; if the user asked for keeping, `reason` follows
 * its name.
 */
export type KeepOrder = { readonly keepMs: number; readonly reason?: string };

export type KeepContext = {
  readonly settings: Pick<ServiceSettings, 'keepOldMs' | 'removeVolumes'>;
  readonly abilities: Pick<EngineAbilities, 'changesRestartPolicies'>;
  /** Whether it moves together with others. */
  readonly isInGroup: boolean;
  /** Whether a helper replaces it: Upkeep runs in it, or needs it. */
  readonly isForHelper: boolean;
  /** Whether it or its successor is `--rm`. */
  readonly autoRemoves: boolean;
};

/** A container is not kept if it could start by itself, could not come back alone, or would not survive its stop. */
export function keepOrderOf(container: Container, context: KeepContext): KeepOrder {
  const { keepOldMs: keepMs } = effectiveSettings(context.settings, labelValuesOf(container));
  if (keepMs === 0) return { keepMs };
  const reason = whyNotKept(container, context);
  return reason === undefined ? { keepMs } : { keepMs: 0, reason };
}

function whyNotKept(
  { settings: { HostConfig } }: Container,
  { settings, abilities, isInGroup, isForHelper, autoRemoves }: KeepContext,
): string | undefined {
  if (isForHelper) return 'is Upkeep itself, or its way to the engine, and could not be rolled back from here';
  if (isInGroup) return 'is updated together with others, and could not come back without them';
  if (autoRemoves) return 'is removed by the engine as soon as it stops (--rm)';
  if (settings.removeVolumes) return 'is to lose its anonymous volumes (--remove-volumes)';
  const policy = HostConfig.RestartPolicy?.Name ?? '';
  const neverStarts = policy === '' || policy === 'no';
  return abilities.changesRestartPolicies || neverStarts
    ? undefined
    : 'has a restart policy that this engine cannot remove';
}

/**
 * Whether remove-volumes applies to this container. A container that is only re-created because of another one, or whose
 * volumes others use, keeps its volumes.
 */
export function getsFreshVolumes(
  { cause, lendsVolumes }: Pick<PlannedMember, 'cause' | 'lendsVolumes'>,
  { removeVolumes }: Pick<ServiceSettings, 'removeVolumes'>,
): boolean {
  return removeVolumes && cause === 'stale' && lendsVolumes !== true;
}
