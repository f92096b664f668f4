import { randomUUID } from 'node:crypto';

/** The caller's own id if it is short and printable, so that both logs can be matched. Otherwise a new one. */
export function requestIdOf(given: string | readonly string[] | undefined): string {
  return typeof given === 'string' && /^[\x20-\x7e]{1,256}$/.test(given) ? given : randomUUID();
}
