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
};

/**
 * So many requests in each window of fixed length, the rest gets 429 and the time to the next window.
 * Every answer tells what is left, as Docker Hub's do: https://docs.docker.com/docker-hub/usage/pulls/
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
