import { changes, verdicts, type Watched } from '../documents/container.ts';
import { type Json, oneOf, textOf } from '../documents/reading.ts';

/** A container after `container_checked`. Fields that the event does not have stay until the details are read. */
export function checked(one: Watched, data: Json, atMs: number): Watched {
  const verdict = oneOf(verdicts, data['verdict']);
  if (verdict === undefined) return one;
  return {
    ...one,
    verdict,
    hold: textOf(data['hold']),
    reason: textOf(data['reason']) || one.reason,
    version: textOf(data['version']) || one.version,
    latestVersion: verdict === 'fresh' ? '' : textOf(data['latest_version']) || one.latestVersion,
    change: verdict === 'fresh' ? undefined : (oneOf(changes, data['change']) ?? one.change),
    checkedAtMs: verdict === 'unknown' ? one.checkedAtMs : atMs,
  };
}
