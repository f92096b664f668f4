import type { PullProgress } from './event.ts';

/** From 0 to 100, rounded down; undefined while the size is not known. */
export function percentOf({ bytes, totalBytes }: Pick<PullProgress, 'bytes' | 'totalBytes'>): number | undefined {
  return totalBytes > 0 ? Math.min(100, Math.floor((100 * bytes) / totalBytes)) : undefined;
}
