import { capital } from '../state/words/sentences.ts';
import type { Reply } from './client.ts';

/** Why a request had no effect, as text after "Cannot …: ". */
export function reasonOf(reply: Exclude<Reply, { readonly kind: 'ok' }>): string {
  if (reply.kind === 'away') return 'Upkeep does not answer';
  return reply.status === 429 && reply.why.startsWith('the answer')
    ? 'Upkeep limits requests'
    : capital(reply.why).replace(/^./, (first) => first.toLowerCase());
}
