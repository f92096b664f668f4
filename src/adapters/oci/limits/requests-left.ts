import type { WireAnswer } from '../transport/exchange.ts';

/**
 * How many more requests an answer says there may be, for now; undefined when it does not say.
 * Docker Hub writes `ratelimit-remaining: 76;w=21600` (https://docs.docker.com/docker-hub/usage/pulls/).
 */
export function requestsLeft({ headers }: WireAnswer): number | undefined {
  const field = headers['ratelimit-remaining'] ?? headers['x-ratelimit-remaining'];
  const [, digits] = /^(\d{1,9})(?:;|$)/.exec(typeof field === 'string' ? field.trim() : '') ?? [];
  return digits === undefined ? undefined : Number(digits);
}
