import { randomUUID } from 'node:crypto';

/** The caller's own id where it is short and printable, so that both logs can be joined; else a fresh one. */
export function requestIdOf(given: string | readonly string[] | undefined): string {
  return typeof given === 'string' && /^[\x20-\x7e]{1,256}$/.test(given) ? given : randomUUID();
}
