import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { allRights, type Rights } from '../../../domain/access/rights.ts';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import {
  maxSessions,
  placeOf,
  type SessionChange,
  type SessionKey,
  type SessionPerson,
  type SessionRecord,
  sessionsOf,
} from '../../../domain/settings/http-settings.ts';
import type { SessionStorage } from '../service/parts.ts';
import { printable } from '../../../domain/text/printable.ts';
import type { KnownTokens } from './auth.ts';

/** The signed-in browsers. Each has a cookie that scripts cannot read. */
export type Sessions = {
  /** The session of a request's cookie. Takes the same short time for every cookie, valid or not. */
  readonly recognise: (request: IncomingMessage) => Recognised | undefined;
  /** Exchanges a token or password for a session. `undefined`: neither is right. */
  readonly signIn: (given: Credentials) => Promise<SignedIn | undefined>;
  /** Begins the session of a person whom the issuer has named. */
  readonly signInAs: (person: SessionPerson & { readonly name: string }, browser: Browser) => Promise<SignedIn>;
  readonly list: () => readonly SessionRecord[];
  /** `kept`: it stays ended after a restart. Undefined: there is no such session. */
  readonly end: (id: string) => Promise<'kept' | 'not-kept' | undefined>;
  /** A cookie that removes the one of this service. */
  readonly removal: () => string;
  readonly hasPassword: () => boolean;
};

/** `renew`: a new cookie for the reply, when it is time to change it. */
export type Recognised = {
  readonly id: string;
  readonly by: string | undefined;
  readonly rights: Rights;
  /** Whether it is of a person, not of a token or password. */
  readonly isPerson: boolean;
  /** The rights at a later time; undefined when it has ended. A replaced cookie does not end it. */
  readonly rightsNow: () => Rights | undefined;
  readonly renew: () => string | undefined;
};

export type Credentials = Browser & { readonly secret: string; readonly isKept: boolean };

/** `isSecure`: it has reached the service over TLS. */
type Browser = { readonly isSecure: boolean; readonly browser: string; readonly address: string };

type SignedIn = { readonly session: SessionRecord; readonly cookie: string };

/** The issuer that people sign in at. */
export type People = {
  /** Text that changes when another issuer or client is used. */
  readonly credential: string;
  /** Undefined: the person may not come in. */
  readonly rightsOf: (person: SessionPerson & { readonly name: string }) => Rights | undefined;
};

type SessionParts = SessionStorage & {
  readonly people?: People | undefined;
  readonly tokens: KnownTokens | undefined;
  readonly clock: Clock;
  readonly log: Log;
};

/**
 * A session ends 30 days after its last use, or a day for a browser that is not to be remembered. Its cookie is replaced
 * at every thirtieth of that time; the one before it works until the browser has used the new one for a minute. Times
 * are measured with the monotonic clock, so that a clock that is set neither ends a session nor makes it longer. A
 * session is only valid while the token or password that it was made with is, and has the rights of that token. The
 * session of a person ends a day after its last use and a week after the sign-in, because the groups of the person are
 * read then only.
 */
export function createSessions({ tokens, password, people, clock, log, kept }: SessionParts): Sessions {
  const place = (kept && placeOf(kept.changes)) ?? randomBytes(4).toString('hex');
  const cookieName = `upkeep_session_${place}`;
  const sessions = new Map<string, Session>();
  const byHash = new Map<string, Session>();
  let isTold = false;
  if (kept !== undefined) {
    if (placeOf(kept.changes) === undefined) void store({ kind: 'place', name: place });
    for (const record of sessionsOf(kept.changes).values()) add(record);
  }

  return {
    recognise(request) {
      const secret = cookieOf(request.headers.cookie, cookieName);
      if (secret === undefined) return undefined;
      const hash = hashOf(secret);
      const session = byHash.get(hash);
      const rights = session && rightsNow(session, hash, secret);
      if (session === undefined || rights === undefined) return undefined;
      session.seenMs = clock.nowMs();
      const { record } = session;
      const { id, by, person } = record;
      const key = record.keys.find((each) => each.hash === hash);
      return {
        ...{ id, by, rights, isPerson: person !== undefined },
        rightsNow() {
          const isOver = clock.monotonicMs() >= (sessions.get(id)?.endsAtMs ?? 0);
          return isOver || key === undefined ? undefined : credentialBehind(record, key, secret)?.rights;
        },
        renew: () => renew(session, hash, secret),
      };
    },
    async signIn({ secret: given, isKept, isSecure, browser, address }) {
      const found = tokens?.()(given, 'utf8');
      const isPassword = found === undefined && password !== undefined && (await password.matches(given));
      const credential = found?.token ?? (isPassword ? password?.verifier() : undefined);
      if (credential === undefined) return undefined;
      const by = isPassword ? 'password' : found?.name;
      return begin(credential, { ...(by !== undefined && { by }), browser, address, isKept, isSecure });
    },
    signInAs({ name, ...person }, browser) {
      if (people === undefined) throw new Error('a person without an issuer');
      return begin(people.credential, { by: printable(name, 200), person, ...browser, isKept: false });
    },
    list: () =>
      [...sessions.values()]
        .filter(({ endsAtMs }) => clock.monotonicMs() < endsAtMs)
        .map(({ record, seenMs }) => ({ ...record, usedMs: seenMs })),
    async end(id) {
      const session = sessions.get(id);
      if (session === undefined) return undefined;
      drop(session);
      return await store({ kind: 'ended', id });
    },
    removal: () => `${cookieName}=; Max-Age=0; HttpOnly; SameSite=Strict`,
    hasPassword: () => password?.verifier() !== undefined,
  };

  async function begin(
    credential: string,
    given: Omit<SessionRecord, 'id' | 'keys' | 'sinceMs' | 'usedMs'>,
  ): Promise<SignedIn> {
    const secret = newSecret();
    const nowMs = clock.nowMs();
    const session = {
      ...given,
      id: randomBytes(8).toString('hex'),
      keys: [keyOf(secret, credential)],
      browser: printable(given.browser, 200),
      sinceMs: nowMs,
      usedMs: nowMs,
    };
    add(session);
    const [oldest] = sessions.values();
    if (sessions.size > maxSessions && oldest !== undefined) drop(oldest);
    await store({ kind: 'session', session });
    return { session, cookie: cookieFor(secret, session) };
  }

  function add(record: SessionRecord): void {
    const lifeMs = lifetimeMs(record);
    const leftMs = Math.min(lifeMs, Math.max(0, record.usedMs + lifeMs - clock.nowMs()));
    const lastMs = record.person === undefined ? Infinity : Math.max(0, record.sinceMs + personMs - clock.nowMs());
    const nowMs = clock.monotonicMs();
    const session: Session = {
      record,
      seenMs: record.usedMs,
      endsAtMs: nowMs + Math.min(leftMs, lastMs),
      renewAtMs: nowMs + leftMs - lifeMs + lifeMs / partsOfLife,
      olderUntilMs: Infinity,
      checked: undefined,
    };
    sessions.set(record.id, session);
    for (const { hash } of record.keys) byHash.set(hash, session);
  }

  function drop({ record }: Session): void {
    sessions.delete(record.id);
    for (const { hash } of record.keys) byHash.delete(hash);
  }

  function rightsNow(session: Session, hash: string, secret: string): Rights | undefined {
    const nowMs = clock.monotonicMs();
    if (nowMs >= session.endsAtMs) return undefined;
    const [newest, older] = session.record.keys;
    const isNewest = newest?.hash === hash;
    // The browser has taken the new cookie over: the one before it soon ends.
    if (isNewest && older !== undefined) session.olderUntilMs = Math.min(session.olderUntilMs, nowMs + graceMs);
    if (!isNewest && nowMs >= session.olderUntilMs) return undefined;
    return rightsBehind(session, isNewest ? newest : older, secret);
  }

  /** The rights of the token, password or person, if they still may come in. Tested again only when they have changed. */
  function rightsBehind(session: Session, key: SessionKey | undefined, secret: string): Rights | undefined {
    const find = tokens?.();
    const verifier = password?.verifier();
    const { checked } = session;
    if (checked?.find === find && checked?.verifier === verifier && checked?.hash === key?.hash) return checked?.rights;
    const rights = key && credentialBehind(session.record, key, secret)?.rights;
    session.checked = { find, verifier, hash: key?.hash, rights };
    return rights;
  }

  function credentialBehind({ by = '', person }: SessionRecord, { credential }: SessionKey, secret: string) {
    const known: (readonly [secret: string, rights: Rights | undefined])[] = [];
    if (person === undefined) {
      for (const { token, rights = allRights } of tokens?.().known ?? []) known.push([token, rights]);
      const verifier = password?.verifier();
      if (verifier !== undefined) known.push([verifier, allRights]);
    } else if (people !== undefined) known.push([people.credential, people.rightsOf({ name: by, ...person })]);
    const [text, rights] = known.find(([each]) => equal(credentialOf(secret, each), credential)) ?? [];
    return text === undefined ? undefined : { text, rights };
  }

  function renew(session: Session, hash: string, secret: string): string | undefined {
    const nowMs = clock.monotonicMs();
    const { record } = session;
    const current = record.keys.find((key) => key.hash === hash);
    if (nowMs < session.renewAtMs || current === undefined) return undefined;
    const credential = credentialBehind(record, current, secret);
    if (credential === undefined) return undefined;
    const fresh = newSecret();
    const renewed = { ...record, keys: [keyOf(fresh, credential.text), current], usedMs: clock.nowMs() };
    drop(session);
    add(renewed);
    void store({ kind: 'session', session: renewed });
    return cookieFor(fresh, renewed);
  }

  function cookieFor(secret: string, { isKept, isSecure }: SessionRecord): string {
    // Without a store the session ends with this process, and so do its cookies, instead of gathering in the browser.
    const maxAge = isKept && kept !== undefined ? `; Max-Age=${lifetimeMs({ isKept }) / 1000}` : '';
    // Without a path it is sent to the folder of the API only, also below a sub-path that this service does not know.
    return `${cookieName}=${secret}${maxAge}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
  }

  async function store(change: SessionChange): Promise<'kept' | 'not-kept'> {
    if (kept === undefined) return 'not-kept';
    const result = await kept.store.append([change]);
    if (result === 'not-kept' && !isTold) {
      isTold = true;
      log.warn('A change of the signed-in browsers could not be stored, and is lost when this process ends');
    }
    return result;
  }
}

type Session = {
  readonly record: SessionRecord;
  seenMs: number;
  /** These are monotonic. */
  readonly endsAtMs: number;
  readonly renewAtMs: number;
  olderUntilMs: number;
  checked:
    | {
        readonly find: ReturnType<KnownTokens> | undefined;
        readonly verifier: string | undefined;
        readonly hash: string | undefined;
        readonly rights: Rights | undefined;
      }
    | undefined;
};

const dayMs = 86_400_000;
const personMs = 7 * dayMs;
const partsOfLife = 30;
const graceMs = 60_000;

function lifetimeMs({ isKept }: Pick<SessionRecord, 'isKept'>): number {
  return isKept ? 30 * dayMs : dayMs;
}

/** 256 bits, as 43 characters. */
function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

function keyOf(secret: string, credential: string): SessionKey {
  return { hash: hashOf(secret), credential: credentialOf(secret, credential) };
}

/** Nobody can test guesses of a weak token against it without the cookie. */
function credentialOf(secret: string, credential: string): string {
  return createHmac('sha256', secret).update(credential).digest('hex');
}

function equal(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

/** The first cookie of that name, if its value can be one of ours. Node bounds the length of all headers. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined;
  const begin = header.startsWith(`${name}=`) ? 0 : header.indexOf(` ${name}=`) + 1;
  if (begin === 0 && !header.startsWith(`${name}=`)) return undefined;
  const from = begin + name.length + 1;
  const value = header.slice(from, from + 44).split(';', 1)[0] ?? '';
  return /^[\w-]{43}$/.test(value) ? value : undefined;
}
