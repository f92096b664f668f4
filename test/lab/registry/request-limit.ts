import type { FrontCall, Said } from './registry-front.ts';

export type RequestLimit = {
  /** Accepts or refuses a request, and adds the headers about the limit. */
  readonly says: (call: FrontCall) => Said;
  /** For each window, in order: the number of counted requests, and of refused ones. */
  readonly windows: readonly { asked: number; refused: number }[];
};

export type LimitOptions = {
  /** Requests in one window. */
  readonly limit: number;
  readonly windowMs: number;
  /** Whether a request counts: Docker Hub counts GETs of manifests, others everything. */
  readonly counts: (call: FrontCall) => boolean;
};

/**
 * A number of requests in each window of fixed length; the rest gets 429 and the time to the next window. Every answer
 * has the remaining number, like Docker Hub's: https://docs.docker.com/docker-hub/usage/pulls/
 */
export function createRequestLimit({ limit, windowMs, counts }: LimitOptions): RequestLimit {
  const windows: { asked: number; refused: number }[] = [];
  let windowEndsAt = -Infinity;

  function says(call: FrontCall): Said {
    const now = performance.now();
    if (!counts(call)) return { headers: announcement(now < windowEndsAt ? (windows.at(-1)?.asked ?? 0) : 0) };
    if (now >= windowEndsAt) {
      windowEndsAt = now + windowMs;
      windows.push({ asked: 0, refused: 0 });
    }
    const window = windows.at(-1) ?? { asked: 0, refused: 0 };
    window.asked += 1;
    if (window.asked <= limit) return { headers: announcement(window.asked) };
    window.refused += 1;
    const retryAfter = String(Math.max(1, Math.ceil((windowEndsAt - now) / 1000)));
    const body = JSON.stringify({
      errors: [{ code: 'TOOMANYREQUESTS', message: 'You have reached your pull rate limit' }],
    });
    return { headers: { ...announcement(window.asked), 'retry-after': retryAfter }, refusal: { status: 429, body } };
  }

  function announcement(asked: number): Readonly<Record<string, string>> {
    const windowS = windowMs / 1000;
    const left = Math.max(0, limit - asked);
    return { 'ratelimit-limit': `${limit};w=${windowS}`, 'ratelimit-remaining': `${left};w=${windowS}` };
  }

  return { says, windows };
}
