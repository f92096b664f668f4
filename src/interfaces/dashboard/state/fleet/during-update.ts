import type { Watched } from '../documents/container.ts';

/**
 * A container while its update is under way. The list may have none of its name for a moment, and then its successor,
 * which nobody has checked; the row goes on saying from which version to which it is updated.
 */
export function duringUpdate(before: Watched, listed: Watched): Watched {
  if (listed.status === '') return before;
  if (listed.id === before.id) return listed;
  const { status, health, startedAtMs } = listed;
  return { ...before, status, health, startedAtMs };
}
