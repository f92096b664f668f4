import type { Clock } from '../../../domain/outside/outside.ts';
import { createSingleFlight } from './single-flight.ts';

/** Asks once, and again when the answer is older than `ttlMs`. A failure is not remembered. */
export function remembered<Value>(
  clock: Clock,
  ttlMs: number,
  ask: (signal: AbortSignal) => Promise<Value>,
): (signal?: AbortSignal) => Promise<Value> {
  const flight = createSingleFlight<Value>();
  let answer: { readonly value: Value; readonly atMs: number } | undefined;

  return async function recall(signal) {
    if (answer !== undefined && clock.monotonicMs() - answer.atMs < ttlMs) return answer.value;
    const value = await flight('', ask, signal);
    answer = { value, atMs: clock.monotonicMs() };
    return value;
  };
}
