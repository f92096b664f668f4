import type { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/outside/outside.ts';

/**
 * Returns a function to call before each comparison with a pattern, because comparisons block the event loop. It throws
 * once they have taken longer than `longestMs`.
 */
export function limitMatching(
  { monotonicMs }: Pick<Clock, 'monotonicMs'>,
  longestMs: number,
  tooLong: () => ServiceError,
): () => void {
  const endMs = monotonicMs() + longestMs;
  return () => {
    if (monotonicMs() > endMs) throw tooLong();
  };
}
