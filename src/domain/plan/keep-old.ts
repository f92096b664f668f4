import type { EngineAbilities } from '../outside/engine-reader.ts';
import type { Container } from '../container/container.ts';
import { effectiveSettings } from '../settings/effective-settings.ts';
import { wishesOf } from '../settings/labels.ts';
import type { ServiceSettings } from '../settings/settings.ts';

/** For how long a container is kept once it has been replaced; 0: not at all, and `reason` follows its name where somebody asked for it. */
export type KeepOrder = { readonly keepMs: number; readonly reason?: string };

export type KeepContext = {
  readonly settings: Pick<ServiceSettings, 'keepOldMs' | 'removeVolumes'>;
  readonly abilities: Pick<EngineAbilities, 'changesRestartPolicies'>;
  /** Moves together with others. */
  readonly isInGroup: boolean;
  /** Upkeep runs in it. */
  readonly isOwn: boolean;
  /** It or its successor is `--rm`. */
  readonly autoRemoves: boolean;
};

/** Where it could start by itself, could not come back alone, or would not outlive its stop, it is not kept. */
export function keepOrderOf(container: Container, context: KeepContext): KeepOrder {
  const { keepOldMs: keepMs } = effectiveSettings(context.settings, wishesOf(container));
  if (keepMs === 0) return { keepMs };
  const reason = whyNotKept(container, context);
  return reason === undefined ? { keepMs } : { keepMs: 0, reason };
}

function whyNotKept(
  { settings: { HostConfig } }: Container,
  { settings, abilities, isInGroup, isOwn, autoRemoves }: KeepContext,
): string | undefined {
  if (isOwn) return 'is Upkeep itself, which has no way back while it runs';
  if (isInGroup) return 'is updated together with others, and could not come back without them';
  if (autoRemoves) return 'is removed by the engine as soon as it stops (--rm)';
  if (settings.removeVolumes) return 'is to lose its anonymous volumes (--remove-volumes)';
  const policy = HostConfig.RestartPolicy?.Name ?? '';
  const neverStarts = policy === '' || policy === 'no';
  return abilities.changesRestartPolicies || neverStarts
    ? undefined
    : 'has a restart policy that this engine cannot take from it';
}
