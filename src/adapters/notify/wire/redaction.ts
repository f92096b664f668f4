import { withoutSecrets } from '../../../domain/text/hidden-secrets.ts';

/**
 * Makes texts of a service safe to show: each secret becomes `***`. If a piece of a secret remains in any form, the
 * whole text is withheld.
 */
export function createRedaction(secrets: readonly string[]): (words: string) => string {
  const known = [...new Set(secrets)].filter(({ length }) => length > 0).toSorted((a, b) => b.length - a.length);
  const forms = known.flatMap((secret) => [secret, encodeURIComponent(secret)]).filter(({ length }) => length >= 4);
  return function cut(words) {
    let shown = words;
    for (const form of forms) shown = shown.replaceAll(form, '***');
    return withoutSecrets(shown, known);
  };
}
