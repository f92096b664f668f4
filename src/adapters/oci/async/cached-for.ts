import type { Clock } from '../../../domain/outside/outside.ts';
import { createSingleFlight } from './single-flight.ts';

/**
 * Caches the answer of `ask` for `ttlMs`. After a failure, the value of `instead` counts for 5 seconds, so that many
 * callers cause one request and one warning. Without `instead`, failures are thrown and not cached.
 */
export function cachedFor<Value>(
  clock: Clock,
  ttlMs: number,
  ask: (signal: AbortSignal) => Promise<Value>,
  instead?: (error: unknown) => Value,
): (signal?: AbortSignal) => Promise<Value> {
  const flight = createSingleFlight<Value>();
  let answer: { readonly value: Value; readonly untilMs: number } | undefined;

  return async function recall(signal) {
    if (answer !== undefined && clock.monotonicMs() < answer.untilMs) return answer.value;
    return flight('', request, signal);
  };

  async function request(signal: AbortSignal): Promise<Value> {
    try {
      return keep(await ask(signal), ttlMs);
    } catch (error) {
      if (instead === undefined || signal.aborted) throw error;
      return keep(instead(error), failureTtlMs);
    }
  }

  function keep(value: Value, forMs: number): Value {
    answer = { value, untilMs: clock.monotonicMs() + forMs };
    return value;
  }
}

const failureTtlMs = 5000;
