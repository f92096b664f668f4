import type { WireAnswer } from './exchange.ts';
import { cut } from './failure.ts';
import { arrayOf, objectOf, parseJsonObject, stringOf } from './json.ts';

/**
 * Error text of an answer, cut for a message; empty without one. Registries send a list
 * (https://github.com/opencontainers/distribution-spec/blob/main/spec.md#error-codes). Token servers send the same, or
 * a field `details`, `error_description` or `message`.
 */
export function whyOf(answer: WireAnswer): string {
  const words = wordsOf(answer);
  return answer.showable?.(words) ?? words;
}

/** The same text unchanged, for parsing and not for display. */
export function wordsOf({ body }: WireAnswer): string {
  const parsed = parseJsonObject(body);
  if (parsed === undefined) return '';
  const listed = arrayOf(parsed['errors']).map((error) => messageOf(objectOf(error)));
  return cut([...listed, messageOf(parsed)].filter((text) => text !== '').join('; '));
}

function messageOf(error: Readonly<Record<string, unknown>> | undefined): string {
  for (const field of ['message', 'error_description', 'details', 'error', 'code']) {
    const text = stringOf(error?.[field])?.trim();
    if (text !== undefined && text !== '') return text;
  }
  return '';
}
