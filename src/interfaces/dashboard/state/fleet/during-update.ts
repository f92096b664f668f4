import type { Watched } from '../documents/container.ts';

/**
 * A container during its update. The list may briefly have none of its name, and then its unchecked successor. The row
 * keeps showing both versions.
 */
export function duringUpdate(before: Watched, listed: Watched): Watched {
  if (listed.status === '') return before;
  if (listed.id === before.id) return listed;
  const { status, health, startedAtMs } = listed;
  return { ...before, status, health, startedAtMs };
}
