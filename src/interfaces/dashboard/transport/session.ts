import { timeOf, objectOf, objectsOf, textOf } from '../state/documents/reading.ts';
import { reasonOf, fitsHeader, type SendRequest, type Tokens } from './client.ts';

/** How this browser is signed in: by a cookie that no script can read, or by a token in this tab. */
export type Session = {
  /** Asks the service. `unknown`: it gave no answer. */
  readonly read: () => Promise<{ readonly isSignedIn: boolean | 'unknown'; readonly hasPassword: boolean }>;
  /** Empty: signed in. Else the reason why not. `works`: whether the page can read now. */
  readonly signIn: (secret: string, isKept: boolean, works: () => Promise<boolean>) => Promise<string>;
  readonly signOut: () => Promise<void>;
  readonly list: () => Promise<readonly SignedInBrowser[] | { readonly why: string }>;
  /** Empty: the browser is signed out. Else the reason why not. */
  readonly end: (id: string) => Promise<string>;
};

export type SignedInBrowser = {
  readonly id: string;
  readonly browser: string;
  readonly address: string;
  readonly by: string;
  readonly sinceMs: number | undefined;
  readonly usedMs: number | undefined;
  readonly isThis: boolean;
};

/** `onChange` is called when someone has signed in or out, so that nothing read before is shown. */
export function createSession(ask: SendRequest, tokens: Tokens, onChange: () => void): Session {
  let hasPassword = false;

  return {
    async read() {
      const reply = await ask('v1/session');
      if (reply.kind !== 'ok') return { isSignedIn: 'unknown', hasPassword };
      const { signed_in: signedIn, has_password: password } = objectOf(reply.document);
      hasPassword = password === true;
      return { isSignedIn: signedIn === true, hasPassword };
    },
    async signIn(secret, isKept, works) {
      tokens.forget();
      const reply = await ask('v1/session', { method: 'POST', body: { secret, keep: isKept } });
      onChange();
      if (reply.kind === 'ok' && (await works())) return '';
      if (reply.kind === 'refused' && reply.status === 401)
        return hasPassword ? 'That token or password was not accepted.' : 'That token was not accepted.';
      if (reply.kind === 'refused' && reply.status === 429) return 'Too many attempts. Try again in a minute.';
      if (reply.kind === 'intercepted') return 'Your proxy wants you to sign in. Reload this page.';
      if (reply.kind === 'unreachable') return 'Upkeep does not answer.';
      // The browser keeps no cookies, or a proxy hides the page's own host: a token still works, in this tab alone.
      if (fitsHeader(secret)) {
        tokens.keep(secret);
        onChange();
        if (await works()) return '';
        tokens.forget();
      }
      return reply.kind === 'ok' ? 'This browser keeps no cookies for this page.' : `${capital(reasonOf(reply))}.`;
    },
    async signOut() {
      if (tokens.api() === '') await ask('v1/session', { method: 'DELETE' });
      tokens.forget();
      onChange();
    },
    async list() {
      const reply = await ask('v1/sessions', { maxAgeMs: 0 });
      if (reply.kind !== 'ok') return { why: reasonOf(reply) };
      return objectsOf(objectOf(reply.document)['sessions']).map(browserOf);
    },
    async end(id) {
      const reply = await ask(`v1/sessions/${encodeURIComponent(id)}`, { method: 'DELETE' });
      if (reply.kind !== 'ok') return reasonOf(reply);
      return objectOf(reply.document)['kept'] === true ? '' : notKept;
    },
  };
}

const notKept = 'it is signed out until Upkeep starts again, because that could not be stored';

function browserOf(entry: Readonly<Record<string, unknown>>): SignedInBrowser {
  return {
    id: textOf(entry['id']),
    browser: browserName(textOf(entry['browser'])),
    address: textOf(entry['address']),
    by: textOf(entry['by']),
    sinceMs: timeOf(entry['since']),
    usedMs: timeOf(entry['used_at']),
    isThis: entry['is_this'] === true,
  };
}

/** `Firefox on Linux`. The names of others are in the text too, so the order matters. */
export function browserName(agent: string): string {
  const name = browsers.find(([, mark]) => agent.includes(mark))?.[0];
  const system = systems.find(([, mark]) => agent.includes(mark))?.[0];
  if (name === undefined) return agent.slice(0, 60) || 'Unknown browser';
  return system === undefined ? name : `${name} on ${system}`;
}

const browsers = [
  ['Edge', 'Edg'],
  ['Opera', 'OPR/'],
  ['Firefox', 'Firefox/'],
  ['Firefox', 'FxiOS/'],
  ['Chrome', 'CriOS/'],
  ['Chrome', 'Chrome/'],
  ['Safari', 'Safari/'],
] as const;

const systems = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['macOS', 'Mac OS X'],
  ['ChromeOS', 'CrOS'],
  ['Linux', 'Linux'],
] as const;

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
