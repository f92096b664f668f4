import type { PullProgress } from './event.ts';

/** From 0 to 100, rounded down. Undefined until the size is known. */
export function percentOf({ bytes, totalBytes }: Pick<PullProgress, 'bytes' | 'totalBytes'>): number | undefined {
  return totalBytes > 0 ? Math.min(100, Math.floor((100 * bytes) / totalBytes)) : undefined;
}
