import { setMaxListeners } from 'node:events';
import { abortReasonOf, orAborted } from '../../domain/concurrency.ts';
import type { Clock } from '../../domain/outside/outside.ts';

/** Runs `work` for a key, or joins its current run. */
type SingleFlight<Value> = (
  key: string,
  work: (signal: AbortSignal) => Promise<Value>,
  signal?: AbortSignal,
) => Promise<Value>;

/** The work continues while a caller waits for it. Its signal aborts when the last caller has aborted. */
export function createSingleFlight<Value>(): SingleFlight<Value> {
  const flights = new Map<string, Flight<Value>>();

  return async function join(key, work, signal) {
    signal?.throwIfAborted();
    // The many listeners are not a leak: a check of many images shares one signal.
    if (signal !== undefined) setMaxListeners(0, signal);
    const flight = flights.get(key) ?? start(key, work);
    flight.waiting += 1;
    try {
      return await orAborted(flight.result, signal);
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0 && signal?.aborted === true) abandon(key, flight, abortReasonOf(signal));
    }
  };

  function start(key: string, work: (signal: AbortSignal) => Promise<Value>): Flight<Value> {
    const controller = new AbortController();
    const flight: Flight<Value> = { controller, result: work(controller.signal), waiting: 0 };
    flights.set(key, flight);
    const end = (): void => forget(key, flight);
    flight.result.then(end, end);
    return flight;
  }

  function abandon(key: string, flight: Flight<Value>, reason: Error): void {
    forget(key, flight);
    flight.controller.abort(reason);
  }

  function forget(key: string, flight: Flight<Value>): void {
    if (flights.get(key) === flight) flights.delete(key);
  }
}

type Flight<Value> = { readonly controller: AbortController; readonly result: Promise<Value>; waiting: number };

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
