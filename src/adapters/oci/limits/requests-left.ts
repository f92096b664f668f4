import type { WireAnswer } from '../transport/exchange.ts';

/**
 * The number of remaining requests that an answer reports; undefined without one. Docker Hub writes
 * `ratelimit-remaining: 76;w=21600` (https://docs.docker.com/docker-hub/usage/pulls/).
 */
export function requestsLeft({ headers }: WireAnswer): number | undefined {
  const field = headers['ratelimit-remaining'] ?? headers['x-ratelimit-remaining'];
  const [, digits] = /^(\d{1,9})(?:;|$)/.exec(typeof field === 'string' ? field.trim() : '') ?? [];
  return digits === undefined ? undefined : Number(digits);
}
