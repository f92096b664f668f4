import type { FrontCall, Said } from './registry-front.ts';

export type RequestLimit = {
  /** Lets a request through or sends it away; with what it says about the limit. */
  readonly says: (call: FrontCall) => Said;
  /** Requests that count, per window, in order: how many there were, and how many of them were sent away. */
  readonly windows: readonly { asked: number; refused: number }[];
};

export type LimitOptions = {
  /** Requests in one window. */
  readonly limit: number;
  readonly windowMs: number;
  /** Whether a request counts: Docker Hub counts GETs of manifests, others everything. */
  readonly counts: (call: FrontCall) => boolean;
  /** Whether each answer tells what is left, as Docker Hub's do: https://docs.docker.com/docker-hub/usage/pulls/ */
  readonly announces?: boolean;
};

/** So many requests in each window of fixed length, the rest gets 429 and the time to the next window. */
export function createRequestLimit({ limit, windowMs, counts, announces = true }: LimitOptions): RequestLimit {
  const windows: { asked: number; refused: number }[] = [];
  let windowEndsAt = -Infinity;

  function says(call: FrontCall): Said {
    if (!counts(call)) return {};
    const now = performance.now();
    if (now >= windowEndsAt) {
      windowEndsAt = now + windowMs;
      windows.push({ asked: 0, refused: 0 });
    }
    const window = windows.at(-1) ?? { asked: 0, refused: 0 };
    window.asked += 1;
    const left = Math.max(0, limit - window.asked);
    const announced = announces
      ? { 'ratelimit-limit': `${limit};w=${windowMs / 1000}`, 'ratelimit-remaining': `${left};w=${windowMs / 1000}` }
      : {};
    if (window.asked <= limit) return { headers: announced };
    window.refused += 1;
    const retryAfter = String(Math.max(1, Math.ceil((windowEndsAt - now) / 1000)));
    const body = JSON.stringify({
      errors: [{ code: 'TOOMANYREQUESTS', message: 'You have reached your pull rate limit' }],
    });
    return { headers: { ...announced, 'retry-after': retryAfter }, refusal: { status: 429, body } };
  }

  return { says, windows };
}
