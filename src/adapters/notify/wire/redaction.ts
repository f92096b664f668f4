import { withoutSecrets } from '../../../domain/text/hidden-secrets.ts';

/** Makes texts of a service safe to show: each secret becomes `***`. */
export function createRedaction(secrets: readonly string[]): (words: string) => string {
  return (words) => withoutSecrets(words, secrets);
}
