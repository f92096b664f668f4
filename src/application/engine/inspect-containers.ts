import type { Container, ContainerSummary } from '../../domain/container/container.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { mapConcurrently } from '../async/concurrency.ts';
import { objectErrorOrThrow } from './object-error.ts';

export type InspectedContainers = {
  readonly containers: readonly Container[];
  /** Listed containers that the engine cannot inspect. */
  readonly unreadable: readonly ContainerSummary[];
};

/**
 * Inspects every container of a list. A container that has gone since is in neither part of the answer. Throws a
 * `ServiceError` when the engine itself cannot be reached.
 */
export async function inspectContainers(
  { engine, log }: Pick<ReadOnlyOutside, 'engine' | 'log'>,
  listed: readonly ContainerSummary[],
  signal: AbortSignal | undefined,
): Promise<InspectedContainers> {
  const unreadable: ContainerSummary[] = [];
  const containers = await mapConcurrently(listed, inspectionsAtOnce, async (summary) => {
    try {
      return await engine.inspectContainer(summary.id, signal);
    } catch (error) {
      const { message } = await objectErrorOrThrow(engine, error, signal);
      unreadable.push(summary);
      log.warn('A container cannot be inspected and is left out of the plan', {
        container: summary.name,
        error: message,
      });
      return undefined;
    }
  });
  return { containers: containers.filter((container) => container !== undefined), unreadable };
}

/** An engine answers an inspection in less than a millisecond. More requests at once only queue up there. */
const inspectionsAtOnce = 16;
