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
  /** As in the request of the recipe. */
  readonly replacedIds: ReadonlyMap<string, string>;
  readonly freshVolumes?: boolean;
  /** Likewise: nobody expects to find these. */
  readonly leftOut?: ReadonlySet<string>;
};

/**
 * What a successor, created and connected to its networks, running or not, has that its predecessor
 * had not, or the reverse, other than by inheriting from its new image: empty for a faithful one, so
 * that an update can be called off while the old one still runs. It does not look at how the
 * successor was made, but compares what the engine says of both. Not compared are the name, the
 * state, what networks give at run time, and the restart policy while it is `no`.
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
