import { withoutSecrets } from '../../../domain/text/hidden-secrets.ts';
import { createLru } from '../async/lru.ts';

/** Logins and tokens that were sent to registries. No message may quote them from an answer. */
export type SentSecrets = {
  readonly note: (headers: Readonly<Record<string, unknown>>, body: string | undefined) => void;
  /**
   * The text of a registry, or a placeholder if it repeats a secret. Secrets of other registries count as well, because
   * two hosts may be one server.
   */
  readonly showable: (words: string) => string;
};

export function createSentSecrets(): SentSecrets {
  const noted = createLru<readonly string[]>(mostNoted);
  return {
    note(headers, body) {
      for (const [name, value] of Object.entries(headers)) {
        if (typeof value === 'string' && /authorization$/i.test(name) && noted.get(value) === undefined)
          noted.set(value, secretsOf(value));
      }
      const token = body === undefined ? null : new URLSearchParams(body).get('refresh_token');
      if (token !== null) noted.set(token, [token]);
    },
    showable: (words) => withoutSecrets(words, [...noted.values()].flat()),
  };
}

/** Enough for a token of each repository, and the logins. Above it, the oldest are dropped; they have expired. */
const mostNoted = 1000;

/** The header's text after the scheme; for `Basic` also the password. */
function secretsOf(header: string): readonly string[] {
  const shown = header.replace(/^\S+ /, '');
  if (!/^basic /i.test(header)) return [shown];
  const login = Buffer.from(shown, 'base64').toString();
  return [shown, login.slice(login.indexOf(':') + 1)];
}
