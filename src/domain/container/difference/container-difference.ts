import type { Container, Image } from '../container.ts';
import { configDifferences } from './config.ts';
import type { Difference } from './difference.ts';
import { hostConfigDifferences } from './host-config.ts';
import { mountDifferences } from './mounts.ts';
import { networkDifferences } from './networks.ts';

export type DifferenceContext = {
  readonly oldImage: Image;
  readonly newImage: Image;
  /** The reference that the successor was to be created from; default: the predecessor's. */
  readonly reference?: string;
  /** The same value as in the recipe's request. */
  readonly replacedIds: ReadonlyMap<string, string>;
  readonly freshVolumes?: boolean;
  /** Likewise: nobody expects to find these. */
  readonly leftOut?: ReadonlySet<string>;
};

/**
 * Differences between a container and its successor, other than those inherited from the new image; empty
 * for a faithful successor. The successor must be created and connected, but need not run, so an update
 * can be called off while the old container still runs. The comparison reads both from the engine; it does
 * not use the recipe. The name, the state, the networks' run-time values, and a restart policy of `no` are
 * not compared.
 */
export function differences(before: Container, after: Container, context: DifferenceContext): readonly Difference[] {
  const pair = { before, after, ...context };
  return [
    ...configDifferences(pair),
    ...hostConfigDifferences(pair),
    ...mountDifferences(pair),
    ...networkDifferences(pair),
  ].slice(0, mostDifferences);
}

/** More say nothing more; each is a line of a log. */
const mostDifferences = 50;
