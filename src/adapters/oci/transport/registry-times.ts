import type { Clock } from '../../../domain/outside/outside.ts';
import { createLru } from '../../../domain/text/plain-data.ts';
import type { Exchange } from '../../http/exchange.ts';

/** The clocks of registries, from the `Date` of their answers, which come anyway. */
export type RegistryTimes = {
  /** The same exchange, whose answers are noted. */
  readonly noting: (exchange: Exchange) => Exchange;
  /** Milliseconds since the epoch by the clock of a host. Undefined if it has told no time. */
  readonly at: (host: string) => number | undefined;
};

export function createRegistryTimes({ monotonicMs }: Pick<Clock, 'monotonicMs'>): RegistryTimes {
  const told = createLru<{ readonly dateMs: number; readonly atMs: number }>(maxHosts);
  return {
    noting: (exchange) => async (request, signal) => {
      const answer = await exchange(request, signal);
      const dateMs = readDate(answer.headers);
      if (dateMs !== undefined) told.set(keyOf(request.url.host), { dateMs, atMs: monotonicMs() });
      return answer;
    },
    at(host) {
      const last = told.get(keyOf(host));
      return last && last.dateMs + (monotonicMs() - last.atMs);
    },
  };
}

/** A URL leaves out the port of its scheme. */
function keyOf(host: string): string {
  return host.toLowerCase().replace(/:(?:443|80)$/, '');
}

/** A cache between has the date of the answer that it keeps, and adds its age: RFC 9111, section 5.1. */
function readDate({ date, age }: { readonly date?: string | undefined; readonly age?: string | undefined }) {
  const dateMs = Date.parse(date ?? '');
  const ageMs = /^\d{1,9}$/.test(age ?? '') ? Number(age) * 1000 : 0;
  return Number.isNaN(dateMs) ? undefined : dateMs + ageMs;
}

const maxHosts = 1000;
