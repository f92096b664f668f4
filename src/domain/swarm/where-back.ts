import { type SwarmService } from './swarm-service.ts';
import { updateFromLabel } from './update-labels.ts';

/**
 * The image that a rollback of a service writes into its spec, verbatim: the one before its last update by Upkeep, else
 * that of `PreviousSpec`. Undefined if neither differs from the present one.
 */
export function whereBack({ image, labels, previous }: SwarmService): string | undefined {
  return [labels[updateFromLabel], previous?.image].find((known) => known !== undefined && known !== image);
}
