import { ServiceError } from '../errors.ts';
import { quoted } from '../text/printable.ts';
import type { UnmatchedFilter } from './selection.ts';

/**
 * Throws `not-found` when a name or an image of the request matches no watched container. A typo must not look like
 * success.
 */
export function refuseUnmatched(
  { unmatched }: { readonly unmatched: readonly UnmatchedFilter[] },
  verb: 'check' | 'update' | 'decide about',
): void {
  if (unmatched.length === 0) return;
  const message = unmatched
    .map(({ filter, reason }) => `Cannot ${verb} ${quoted(filter)}: ${lowerFirst(reason)}`)
    .join('\n');
  throw new ServiceError('not-found', message, { remedy: '"upkeep check" without names lists what is watched' });
}

function lowerFirst(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}
