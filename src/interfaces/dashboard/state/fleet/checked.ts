import { changes, verdicts, type Watched } from '../documents/container.ts';
import { type Json, oneOf, textOf } from '../documents/reading.ts';

/** A container after `container_checked`; what the event does not tell stays, until the details tell it. */
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
