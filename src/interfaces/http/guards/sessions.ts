import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import {
  maxSessions,
  placeOf,
  type SessionChange,
  type SessionKey,
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
  readonly renew: () => string | undefined;
};

export type Credentials = {
  readonly secret: string;
  readonly isKept: boolean;
  readonly isSecure: boolean;
  readonly browser: string;
  readonly address: string;
};

export type SignedIn = { readonly session: SessionRecord; readonly cookie: string };

type SessionParts = SessionStorage & {
  readonly tokens: KnownTokens | undefined;
  readonly clock: Clock;
  readonly log: Log;
};

/**
 * A session ends 30 days after its last use, or a day for a browser that is not to be remembered. Its cookie is replaced
 * at every thirtieth of that time; the one before it works until the browser has used the new one for a minute. Times
 * are measured with the monotonic clock, so that a clock that is set neither ends a session nor makes it longer. A
 * session is only valid while the token or password that it was made with is.
 */
export function createSessions({ tokens, password, clock, log, kept }: SessionParts): Sessions {
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
      if (session === undefined || !isValid(session, hash, secret)) return undefined;
      session.seenMs = clock.nowMs();
      const { id, by } = session.record;
      return { id, by, renew: () => renew(session, hash, secret) };
    },
    async signIn({ secret: given, isKept, isSecure, browser, address }) {
      const found = tokens?.()(given, 'utf8');
      const isPassword = found === undefined && password !== undefined && (await password.matches(given));
      const credential = found?.token ?? (isPassword ? password?.verifier() : undefined);
      if (credential === undefined) return undefined;
      const secret = newSecret();
      const nowMs = clock.nowMs();
      const session = {
        id: randomBytes(8).toString('hex'),
        keys: [keyOf(secret, credential)],
        ...(isPassword ? { by: 'password' } : found?.name !== undefined && { by: found.name }),
        browser: printable(browser, 200),
        address,
        sinceMs: nowMs,
        usedMs: nowMs,
        isKept,
        isSecure,
      };
      add(session);
      const [oldest] = sessions.values();
      if (sessions.size > maxSessions && oldest !== undefined) drop(oldest);
      await store({ kind: 'session', session });
      return { session, cookie: cookieFor(secret, session) };
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

  function add(record: SessionRecord): void {
    const lifeMs = lifetimeMs(record);
    const leftMs = Math.min(lifeMs, Math.max(0, record.usedMs + lifeMs - clock.nowMs()));
    const nowMs = clock.monotonicMs();
    const session: Session = {
      record,
      seenMs: record.usedMs,
      endsAtMs: nowMs + leftMs,
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

  function isValid(session: Session, hash: string, secret: string): boolean {
    const nowMs = clock.monotonicMs();
    if (nowMs >= session.endsAtMs) return false;
    const [newest, older] = session.record.keys;
    const isNewest = newest?.hash === hash;
    // The browser has taken the new cookie over: the one before it soon ends.
    if (isNewest && older !== undefined) session.olderUntilMs = Math.min(session.olderUntilMs, nowMs + graceMs);
    if (!isNewest && nowMs >= session.olderUntilMs) return false;
    return isStillGood(session, isNewest ? newest : older, secret);
  }

  /** Whether the token or password of the session is still one. Tested again only when they have changed. */
  function isStillGood(session: Session, key: SessionKey | undefined, secret: string): boolean {
    const find = tokens?.();
    const verifier = password?.verifier();
    const { checked } = session;
    if (checked?.find === find && checked?.verifier === verifier && checked?.hash === key?.hash)
      return checked?.isGood === true;
    const credentials = [
      ...(find?.known ?? []).map(({ token }) => token),
      ...(verifier === undefined ? [] : [verifier]),
    ];
    const isGood = key !== undefined && credentials.some((each) => equal(credentialOf(secret, each), key.credential));
    session.checked = { find, verifier, hash: key?.hash, isGood };
    return isGood;
  }

  function renew(session: Session, hash: string, secret: string): string | undefined {
    const nowMs = clock.monotonicMs();
    const { record } = session;
    const current = record.keys.find((key) => key.hash === hash);
    if (nowMs < session.renewAtMs || current === undefined) return undefined;
    const credentials = [...(tokens?.().known ?? []).map(({ token }) => token), password?.verifier()];
    const credential = credentials.find(
      (each) => each !== undefined && equal(credentialOf(secret, each), current.credential),
    );
    if (credential === undefined) return undefined;
    const fresh = newSecret();
    const renewed = { ...record, keys: [keyOf(fresh, credential), current], usedMs: clock.nowMs() };
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
        readonly isGood: boolean;
      }
    | undefined;
};

const dayMs = 86_400_000;
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
function cookieOf(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined;
  const begin = header.startsWith(`${name}=`) ? 0 : header.indexOf(` ${name}=`) + 1;
  if (begin === 0 && !header.startsWith(`${name}=`)) return undefined;
  const from = begin + name.length + 1;
  const value = header.slice(from, from + 44).split(';', 1)[0] ?? '';
  return /^[\w-]{43}$/.test(value) ? value : undefined;
}
