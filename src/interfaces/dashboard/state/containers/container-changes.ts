import type { WatchedContainer } from '../documents/container.ts';
import { readVerdict } from '../documents/details.ts';
import { type Json, numberOf, textOf } from '../documents/reading.ts';

/** A container after `container_checked`. Fields that the event does not have stay until the details are read. */
export function checked(one: WatchedContainer, data: Json, atMs: number): WatchedContainer {
  const now = readVerdict(data);
  const { verdict, hold, reason, eligibleAtMs, retryAtMs, version, candidateDigest } = now;
  if (verdict === undefined) return one;
  // A failed check tells nothing about versions.
  if (verdict === 'unknown') return { ...one, verdict, hold, reason: reason || one.reason, eligibleAtMs, retryAtMs };
  const decision = one.decision?.digest === candidateDigest ? one.decision : undefined;
  return { ...one, ...now, version: version || one.version, decision, checkedAtMs: atMs };
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
