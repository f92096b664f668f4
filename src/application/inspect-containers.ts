import type { Container, ContainerSummary } from '../domain/container.ts';
import { describeError, type ErrorCode, ServiceError } from '../domain/errors.ts';
import type { Outside } from '../domain/outside.ts';
import { mapConcurrently } from './concurrency.ts';

export type InspectedContainers = {
  readonly containers: readonly Container[];
  /** Those that the engine lists but cannot show. */
  readonly unreadable: readonly ContainerSummary[];
};

/**
 * Inspects every container of a list; one that is gone meanwhile is in neither part of the answer.
 * Throws a `ServiceError` when the engine itself is lost: one broken container must not keep the
 * others from being updated.
 */
export async function inspectContainers(
  { engine, log }: Pick<Outside, 'engine' | 'log'>,
  listed: readonly ContainerSummary[],
  signal: AbortSignal | undefined,
): Promise<InspectedContainers> {
  const unreadable: ContainerSummary[] = [];
  const containers = await mapConcurrently(listed, inspectionsAtOnce, async (summary) => {
    try {
      return await engine.inspectContainer(summary.id, signal);
    } catch (error) {
      if (signal?.aborted || !(error instanceof ServiceError) || fatal.includes(error.code)) throw error;
      // A container whose process hangs in the kernel makes its own inspection hang, and no other.
      if (error.code === 'timeout') await engine.ping(signal);
      unreadable.push(summary);
      log.warn('A container cannot be inspected and is left out of the plan', {
        container: summary.name,
        error: describeError(error),
      });
      return undefined;
    }
  });
  return { containers: containers.filter((container) => container !== undefined), unreadable };
}

/** An engine answers an inspect in less than a millisecond; more at once only queue up there. */
const inspectionsAtOnce = 16;

const fatal: readonly ErrorCode[] = ['engine-unreachable', 'engine-denied', 'cancelled'];
