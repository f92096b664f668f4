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
  /** The same value as in the recipe's request: these fields are expected to be missing. */
  readonly leftOut?: ReadonlySet<string>;
};

/**
 * Differences between a container and its successor, except values inherited from the new image. Empty for a faithful
 * successor. The successor must be created and connected, but need not run, so an update can be cancelled while the old
 * container runs. Both are read from the engine; the recipe is not used. The name, the state, run-time values of
 * networks, and a restart policy of `no` are not compared.
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

/** Each difference is a line of a log, and more lines are of no use. */
const mostDifferences = 50;
