import type { Watched } from '../documents/container.ts';
import { type Json, numberOf, textOf } from '../documents/reading.ts';

/** A container after `update_completed`, until the details are read. */
export function updated(one: Watched, data: Json, atMs: number): Watched {
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
export function failed(one: Watched, data: Json, atMs: number): Watched {
  const kind = data['rolled_back'] === true ? 'rolled_back' : 'failed';
  return { ...one, verdict: 'held', hold: 'failed', last: { ...outcome(one, data, atMs), outcome: kind } };
}

function outcome({ name, version, latestVersion }: Watched, data: Json, atMs: number) {
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
