import { timeOf, objectOf, objectsOf, textOf } from '../state/documents/reading.ts';
import { reasonOf, fitsHeader, type SendRequest, type Tokens } from './client.ts';

/** How this browser is signed in: by a cookie that no script can read, or by a token in this tab. */
export type Session = {
  /** Asks the service. `unknown`: it gave no answer. */
  readonly read: () => Promise<SignInState>;
  /** Empty: signed in. Else the reason why not. `works`: whether the page can read now. */
  readonly signIn: (secret: string, isKept: boolean, works: () => Promise<boolean>) => Promise<string>;
  /** The address to go to, which ends the session at the issuer too; empty: none. */
  readonly signOut: () => Promise<string>;
  /** The person who is signed in, as `read` has found. */
  readonly who: () => Who;
  readonly list: () => Promise<readonly SignedInBrowser[] | { readonly why: string }>;
  /** Empty: the browser is signed out. Else the reason why not. */
  readonly end: (id: string) => Promise<string>;
  readonly tokens: () => Promise<readonly ListedToken[] | { readonly why: string }>;
  /** Empty: the token is revoked. Else the reason why not. */
  readonly revoke: (name: string) => Promise<string>;
};

/** `issuer`: the host that people sign in at; empty: nobody does. `failure`: why the last sign-in there failed. */
export type SignInState = {
  readonly isSignedIn: boolean | 'unknown';
  readonly hasPassword: boolean;
  readonly issuer: string;
  readonly failure: string;
};

/** A token in this tab tells nothing of itself, so it counts as an admin's: the service refuses what it may not. */
export type Who = {
  readonly name: string;
  readonly role: string;
  /** Whether it sees some containers only. */
  readonly isLimited: boolean;
  /** Whether the proxy has signed it in, and only the proxy can sign it out. */
  readonly isByProxy: boolean;
};

const anyone: Who = { name: '', role: 'admin', isLimited: false, isByProxy: false };

/** `name`: empty for the one token that has none, which cannot be revoked. */
export type ListedToken = { readonly name: string; readonly kind: string; readonly rights: string };

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
  let issuer = '';
  let who = anyone;

  return {
    async read() {
      const reply = await ask('v1/session');
      if (reply.kind !== 'ok') return { isSignedIn: 'unknown', hasPassword, issuer, failure: '' };
      const state = objectOf(reply.document);
      hasPassword = state['has_password'] === true;
      issuer = textOf(state['issuer']);
      const isSignedIn = state['signed_in'] === true;
      who = isSignedIn ? whoIn(state) : anyone;
      return { isSignedIn, hasPassword, issuer, failure: textOf(state['failure']) };
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
      const reply = tokens.api() === '' ? await ask('v1/session', { method: 'DELETE' }) : undefined;
      tokens.forget();
      onChange();
      return reply?.kind === 'ok' ? textOf(objectOf(reply.document)['go_to']) : '';
    },
    who: () => who,
    async list() {
      const reply = await ask('v1/sessions', { maxAgeMs: 0 });
      if (reply.kind !== 'ok') return { why: reasonOf(reply) };
      return objectsOf(objectOf(reply.document)['sessions']).map(browserOf);
    },
    async end(id) {
      const reply = await ask(`v1/sessions/${encodeURIComponent(id)}`, { method: 'DELETE' });
      if (reply.kind !== 'ok') return reasonOf(reply);
      return objectOf(reply.document)['kept'] === true ? '' : `it is signed out ${notKept}`;
    },
    async tokens() {
      const reply = await ask('v1/tokens', { maxAgeMs: 0 });
      if (reply.kind !== 'ok') return { why: reasonOf(reply) };
      return objectsOf(objectOf(reply.document)['tokens']).map((entry) => ({
        name: textOf(entry['name']),
        kind: textOf(entry['kind']),
        rights: textOf(entry['rights']),
      }));
    },
    async revoke(name) {
      const reply = await ask(`v1/tokens/${encodeURIComponent(name)}`, { method: 'DELETE' });
      if (reply.kind !== 'ok') return reasonOf(reply);
      return objectOf(reply.document)['kept'] === true ? '' : `it is revoked ${notKept}`;
    },
  };
}

const notKept = 'until Upkeep starts again, because that could not be stored';

function whoIn(state: Readonly<Record<string, unknown>>): Who {
  return {
    name: textOf(state['name']),
    role: textOf(state['role']),
    isLimited: state['is_limited'] === true,
    isByProxy: state['by_proxy'] === true,
  };
}

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
