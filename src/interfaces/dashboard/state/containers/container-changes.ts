import { changes, verdicts, type WatchedContainer } from '../documents/container.ts';
import { type Json, numberOf, oneOf, textOf } from '../documents/reading.ts';

/** A container after `container_checked`. Fields that the event does not have stay until the details are read. */
export function checked(one: WatchedContainer, data: Json, atMs: number): WatchedContainer {
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

/**
 * A container during its update. The list may briefly omit it, and then contain its unchecked successor. The row keeps
 * showing both versions.
 */
export function duringUpdate(before: WatchedContainer, listed: WatchedContainer): WatchedContainer {
  if (listed.status === '') return before;
  if (listed.id === before.id) return listed;
  const { status, health, startedAtMs } = listed;
  return { ...before, status, health, startedAtMs };
}

/** A container after `update_completed`, until the details are read. */
export function updated(one: WatchedContainer, data: Json, atMs: number): WatchedContainer {
  const to = one.latestVersion || one.version;
  return {
    ...one,
    version: to,
    latestVersion: '',
    digest: one.latestDigest || one.digest,
    latestDigest: '',
    candidate: '',
    candidateDigest: '',
    decision: undefined,
    change: undefined,
    verdict: 'fresh',
    hold: '',
    startedAtMs: atMs,
    checkedAtMs: atMs,
    last: { ...outcome(one, data, atMs), outcome: 'updated', to },
  };
}

/** The same after `update_failed`. */
export function failed(one: WatchedContainer, data: Json, atMs: number): WatchedContainer {
  const kind = data['rolled_back'] === true ? 'rolled_back' : 'failed';
  return { ...one, verdict: 'held', hold: 'failed', last: { ...outcome(one, data, atMs), outcome: kind } };
}

function outcome({ name, version, latestVersion }: WatchedContainer, data: Json, atMs: number) {
  return {
    name,
    atMs,
    from: version,
    to: latestVersion,
    reason: textOf(data['error']),
    downtimeMs: numberOf(data['downtime_ms']),
    phasesMs: {},
    log: textOf(data['log']),
  };
}
