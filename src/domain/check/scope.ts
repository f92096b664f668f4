import type { ContainerSummary } from '../container/container.ts';
import type { ImageLabelsOf } from '../container/lookup.ts';
import { readLabels } from '../settings/effective-settings.ts';

export type ScopeSource = {
  /** Configured scope; undefined: none. */
  readonly scope: string | undefined;
  readonly containers: readonly ContainerSummary[];
  readonly imageLabelsOf: ImageLabelsOf;
  /** The id of the container that we run in. */
  readonly ownId: string | undefined;
};

/**
 * The effective scope, empty for unscoped: the configured one (`none` means unscoped), else the scope of Upkeep's own
 * container.
 */
export function scopeInForce({ scope, containers, imageLabelsOf, ownId }: ScopeSource): string {
  if (scope !== undefined) return scope === 'none' ? '' : scope;
  const own = ownId === undefined ? undefined : containers.find(({ id }) => id === ownId);
  return (own && readLabels(own.labels, imageLabelsOf(own)).wishes.scope) ?? '';
}
