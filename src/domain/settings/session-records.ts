import { isJsonObject, isWholeNumber } from '../text/json.ts';
import { putNewest } from '../text/plain-data.ts';
import { printable } from '../text/printable.ts';

/** A signed-in browser. Nothing in it lets anybody in: it has only hashes of its cookie. */
export type SessionRecord = {
  readonly id: string;
  /** Of the cookie in use, and of the one before it until the browser has taken the new one over. */
  readonly keys: readonly SessionKey[];
  /** The name of the token, or `password`. Absent: the token has no name. */
  readonly by?: string;
  readonly browser: string;
  readonly address: string;
  readonly sinceMs: number;
  readonly usedMs: number;
  /** Whether it outlives the browser. */
  readonly isKept: boolean;
  /** Whether the cookie is sent over TLS only. */
  readonly isSecure: boolean;
};

/** Both in hex. `credential` binds the session to the token or password that it was exchanged for. */
export type SessionKey = { readonly hash: string; readonly credential: string };

/** One stored change. `place`: the part of the cookie's name that tells services of one host apart. */
export type SessionChange =
  | { readonly kind: 'session'; readonly session: SessionRecord }
  | { readonly kind: 'ended'; readonly id: string }
  | { readonly kind: 'place'; readonly name: string };

/** More than a household has browsers. The one that was renewed least recently is dropped. */
export const maxSessions = 100;

export function sessionsOf(changes: readonly SessionChange[]): ReadonlyMap<string, SessionRecord> {
  const sessions = new Map<string, SessionRecord>();
  for (const change of changes) {
    if (change.kind === 'ended') sessions.delete(change.id);
    if (change.kind === 'session') putNewest(sessions, change.session.id, change.session, maxSessions);
  }
  return sessions;
}

export function placeOf(changes: readonly SessionChange[]): string | undefined {
  return changes.findLast((change) => change.kind === 'place')?.name;
}

/** The smallest list of changes with the same result. */
export function compactSessions(changes: readonly SessionChange[]): readonly SessionChange[] {
  const name = placeOf(changes);
  return [
    ...(name === undefined ? [] : [{ kind: 'place', name } as const]),
    ...[...sessionsOf(changes).values()].map((session) => ({ kind: 'session', session }) as const),
  ];
}

/** Reads a record of the file. Undefined for any other value. */
export function readSessionChange(value: unknown): SessionChange | undefined {
  if (!isJsonObject(value)) return undefined;
  const { kind, id, name } = value;
  if (kind === 'ended') return isHex(id) ? { kind, id } : undefined;
  if (kind === 'place') return isHex(name) ? { kind, name } : undefined;
  const session = kind === 'session' ? readSession(value['session']) : undefined;
  return session && { kind: 'session', session };
}

function readSession(value: unknown): SessionRecord | undefined {
  if (!isJsonObject(value)) return undefined;
  const { id, by, browser, address, sinceMs, usedMs, isKept, isSecure } = value;
  const keys = Array.isArray(value['keys']) ? value['keys'].flatMap((key) => readKey(key) ?? []) : [];
  if (!isHex(id) || keys.length === 0 || keys.length > 2 || !isWholeNumber(sinceMs) || !isWholeNumber(usedMs))
    return undefined;
  return {
    id,
    keys,
    ...(typeof by === 'string' && { by: printable(by, 200) }),
    browser: printable(typeof browser === 'string' ? browser : '', 200),
    address: printable(typeof address === 'string' ? address : '', 50),
    sinceMs,
    usedMs,
    isKept: isKept === true,
    isSecure: isSecure === true,
  };
}

function readKey(value: unknown): SessionKey | undefined {
  if (!isJsonObject(value)) return undefined;
  const { hash, credential } = value;
  return isHex(hash) && isHex(credential) ? { hash, credential } : undefined;
}

function isHex(value: unknown): value is string {
  return typeof value === 'string' && /^[\da-f]{8,64}$/.test(value);
}
