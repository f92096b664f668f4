import { withoutSecrets } from '../../../domain/text/repeated-secret.ts';

/**
 * Words of a service as they may be shown: each secret in them is `***`, and where a piece of one is left, in whatever
 * form, the words are withheld.
 */
export function createCutting(secrets: readonly string[]): (words: string) => string {
  const known = [...new Set(secrets)].filter(({ length }) => length > 0).toSorted((a, b) => b.length - a.length);
  const forms = known.flatMap((secret) => [secret, encodeURIComponent(secret)]).filter(({ length }) => length >= 4);
  return function cut(words) {
    let shown = words;
    for (const form of forms) shown = shown.replaceAll(form, '***');
    return withoutSecrets(shown, known);
  };
}
