import { uncapitalized } from '../state/words.ts';
import { encodedPart } from '../state/address.ts';
import type { WatchedContainer } from '../state/documents/container.ts';

/**
 * A reply of the API; `document` is undefined without a body. `intercepted`: a proxy answered in its place with a
 * redirect or a page, because it wants a sign-in of its own.
 */
export type Reply =
  | {
      readonly kind: 'ok';
      readonly document: unknown;
      /** Of the newest event before the reply, if it names one. */
      readonly lastEventId?: string | undefined;
    }
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly why: string;
      readonly retryAfterMs: number | undefined;
    }
  | { readonly kind: 'intercepted' }
  | { readonly kind: 'unreachable' };

/** A reply and its date; null for a reply that has not just arrived. */
export type DatedReply = { readonly reply: Reply; readonly date: string | null };

export type SendRequest = (path: string, options?: RequestOptions) => Promise<Reply>;

export type RequestOptions = {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** For GET: a reply to another tab is good enough if its request is not older. */
  readonly maxAgeMs?: number;
};

/** Sends a GET request, unless the reply to another tab will do. */
export type ReadShared = (
  request: { readonly path: string; readonly token: string; readonly maxAgeMs: number },
  signal?: AbortSignal,
) => Promise<DatedReply>;

/**
 * Sends requests to the API of this page. GET requests are shared by all tabs. `onDate` gets the date of each reply that
 * has just arrived.
 */
export function createClient(
  tokens: Tokens,
  readShared: ReadShared,
  onDate: (date: string | null) => void = () => undefined,
): SendRequest {
  return async (path, options = {}) => {
    const token = tokens.api();
    if (!fitsHeader(token)) return unusableToken;
    const { method = 'GET', maxAgeMs = togetherMs, signal } = options;
    const { reply, date } =
      method === 'GET'
        ? await readShared({ path, token, maxAgeMs }, signal)
        : await fetchReply(addressOf(path), token, options);
    onDate(date);
    return reply;
  };
}

/** Without the user and password that the page's own address may have: `fetch` refuses them. */
export function addressOf(path: string): string {
  const url = new URL(path, document.baseURI);
  url.username = '';
  url.password = '';
  return url.href;
}

/** Less than the time between an event and the reading that it causes, so a shared request began after the event. */
const togetherMs = 200;

/**
 * Sends one request, and reads the reply. The token is in a header, because proxies log URLs, and not in `Authorization`,
 * which may be the proxy's. Cookies are sent for a proxy that knows people by them.
 */
export async function fetchReply(
  url: string,
  token: string,
  { method = 'GET', body, timeoutMs = 30_000, signal }: RequestOptions,
): Promise<DatedReply> {
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      method,
      headers: {
        ...tokenHeader(token),
        ...(method !== 'GET' && ownPage),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'manual',
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
    return { reply: replyOf(response, await response.text()), date: response.headers.get('date') };
  } catch {
    return { reply: { kind: 'unreachable' }, date: null };
  }
}

/** A page of another origin cannot send it, so the service knows that this page has sent the request. */
const ownPage = { 'X-Upkeep-Page': '1' } as const;

export function tokenHeader(token: string): Readonly<Record<string, string>> {
  return token === '' ? {} : { 'X-Upkeep-Token': token };
}

/** Whether a proxy answered: with a redirect, or with a page that says that someone has to sign in. */
export function isIntercepted({ type, status, headers }: Response, expected: string): boolean {
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) return true;
  const isOurs = [expected, 'application/json'].some((own) => headers.get('content-type')?.startsWith(own));
  return !isOurs && (status === 200 || status === 401 || status === 403);
}

/** Whether a person is refused in other words than Upkeep's, which have the version of the API. */
export function isRefusedByProxy({ status }: Pick<Response, 'status'>, text: string): boolean {
  return (status === 401 || status === 403) && (errorIn(text) === '' || !text.includes('"api_version"'));
}

function replyOf(response: Response, text: string): Reply {
  if (isIntercepted(response, 'application/json')) return { kind: 'intercepted' };
  const lastEventId = response.headers.get('x-last-event-id') ?? undefined;
  if (response.ok) return { kind: 'ok', document: text === '' ? undefined : JSON.parse(text), lastEventId };
  if (isRefusedByProxy(response, text)) return { kind: 'intercepted' };
  const why = errorIn(text);
  return {
    kind: 'refused',
    status: response.status,
    why: why || `the answer was ${response.status}`,
    retryAfterMs: retryAfter(response),
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
  if (reply.kind === 'unreachable') return 'Upkeep does not answer';
  if (reply.kind === 'intercepted') return 'your proxy wants you to sign in: reload this page';
  if (reply.status === 504 && reply.why.startsWith('the answer'))
    return 'your proxy did not wait for the answer; the result appears here when it is known';
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

/** The token of this tab, for a browser without cookies. It is forgotten when the tab is closed. */
export type Tokens = {
  /** Empty: none. */
  readonly api: () => string;
  readonly keep: (token: string) => void;
  readonly forget: () => void;
};

const apiKey = 'upkeep-token';

/** Stored in the tab's storage. If the browser refuses that, it stays in memory while the page is open. */
export function createTokens(): Tokens {
  let memory = '';
  const write = (value: string): void => {
    memory = value;
    try {
      sessionStorage.setItem(apiKey, value);
    } catch {
      // Private windows of some browsers have no storage.
    }
  };
  return {
    api() {
      try {
        return sessionStorage.getItem(apiKey) ?? memory;
      } catch {
        return memory;
      }
    },
    keep: write,
    forget: () => write(''),
  };
}

/** Whether an HTTP header can carry the token. `fetch` throws for other characters: https://fetch.spec.whatwg.org/#concept-header-value */
export function fitsHeader(token: string): boolean {
  return /^[\x21-\x7E\x80-\xFF]*$/.test(token);
}

/**
 * The parameters of requests about these containers, one text for each engine, because names apply to every engine of a
 * request.
 */
export function containerParameters(
  containers: readonly Pick<WatchedContainer, 'ownName' | 'engine'>[],
): readonly string[] {
  const scopes = new Map<string, string>();
  for (const { ownName, engine } of containers) {
    const before = scopes.get(engine) ?? (engine === '' ? '' : `&engine=${encodedPart(engine)}`);
    scopes.set(engine, `${before}&container=${namePattern(ownName)}`);
  }
  return [...scopes.values()];
}

/** The API accepts patterns, so special characters are escaped: https://github.com/google/re2/wiki/Syntax */
function namePattern(name: string): string {
  return encodedPart(name.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
}

/** The time of the service. The clock of the browser may be wrong by hours. */
type ServiceClock = {
  readonly nowMs: () => number;
  /** Takes the `Date` of a reply that has just arrived. */
  readonly hear: (date: string | null) => void;
};

export function createServiceClock(browserNowMs = Date.now): ServiceClock {
  let aheadMs = 0;
  return {
    nowMs: () => browserNowMs() + aheadMs,
    hear(date) {
      const difference = Date.parse(date ?? '') - browserNowMs();
      // The date has whole seconds and its way here takes time. Smaller steps would disturb counted seconds.
      if (Math.abs(difference - aheadMs) > toleratedMs) aheadMs = difference;
    },
  };
}

const toleratedMs = 5000;
