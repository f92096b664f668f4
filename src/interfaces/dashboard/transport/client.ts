import { uncapitalized } from '../state/words/sentences.ts';
import { fitsHeader, type Tokens } from './tokens.ts';

/** A reply of the API; `document` is undefined without a body. */
export type Reply =
  | { readonly kind: 'ok'; readonly document: unknown }
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly why: string;
      readonly retryAfterMs: number | undefined;
    }
  | { readonly kind: 'away' };

export type SendRequest = (path: string, options?: RequestOptions) => Promise<Reply>;

export type RequestOptions = {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
};

/**
 * Sends requests to the API of this page. The token is in a header, because proxies log URLs. `onDate` gets the date of
 * each reply.
 */
export function createClient(tokens: Tokens, onDate: (date: string | null) => void = () => undefined): SendRequest {
  return async (path, { method = 'GET', body, timeoutMs = 30_000, signal } = {}) => {
    if (!fitsHeader(tokens.api())) return unusableToken;
    const limit = AbortSignal.timeout(timeoutMs);
    try {
      const response = await fetch(path, {
        method,
        headers: {
          Authorization: `Bearer ${tokens.api()}`,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
        signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      });
      onDate(response.headers.get('date'));
      const text = await response.text();
      if (response.ok) return { kind: 'ok', document: text === '' ? undefined : JSON.parse(text) };
      return {
        kind: 'refused',
        status: response.status,
        why: errorIn(text) || `the answer was ${response.status}`,
        retryAfterMs: retryAfter(response),
      };
    } catch {
      return { kind: 'away' };
    }
  };
}

const unusableToken: Reply = {
  kind: 'refused',
  status: 401,
  why: 'the token contains characters that no token can have',
  retryAfterMs: undefined,
};

/** The reason why a request had no effect, as text after "Cannot …: ". */
export function reasonOf(reply: Exclude<Reply, { readonly kind: 'ok' }>): string {
  if (reply.kind === 'away') return 'Upkeep does not answer';
  return reply.status === 429 && reply.why.startsWith('the answer')
    ? 'too many requests: try again in a minute'
    : uncapitalized(reply.why);
}

/** The error in the API's format. An error page of a proxy has none. */
function errorIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    return typeof error === 'string' ? error : '';
  } catch {
    return '';
  }
}

function retryAfter({ headers }: Response): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}
