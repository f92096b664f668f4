import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/outside/outside.ts';

/** To be called before each comparison of a request's filters with a container; throws once they have taken too long. */
export function stopMatchingInTime({ monotonicMs }: Pick<Clock, 'monotonicMs'>): () => void {
  const endMs = monotonicMs() + longestMatchingMs;
  return () => {
    if (monotonicMs() <= endMs) return;
    throw new ServiceError('invalid-input', 'Cannot find what is meant: the names and patterns take too long', {
      remedy: 'Ask for fewer, or for simpler ones',
    });
  };
}

/** Nothing else is answered meanwhile. A hundred patterns and a thousand containers take 30 ms. */
const longestMatchingMs = 250;
