import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/outside/outside.ts';

/**
 * Returns a function to call before each comparison of a filter with a container. It throws once the comparisons have
 * taken too long.
 */
export function stopMatchingInTime({ monotonicMs }: Pick<Clock, 'monotonicMs'>): () => void {
  const endMs = monotonicMs() + longestMatchingMs;
  return () => {
    if (monotonicMs() <= endMs) return;
    throw new ServiceError('invalid-input', 'Cannot match the containers: the names and patterns take too long', {
      remedy: 'Use fewer or simpler patterns',
    });
  };
}

/** Comparisons block the event loop. A hundred patterns and a thousand containers take 30 ms. */
const longestMatchingMs = 250;
