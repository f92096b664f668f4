import type { ErrorCode } from '../errors.ts';

/**
 * The kind of reason why a newer image waits (the first nine), or why the check failed (the others). `failed`: this
 * version was rolled back in this container. `approval`: it waits for a person. `window`: its window is closed, or
 * cannot be read. `wave`: engines of earlier waves have not proven it. `no-pull`: the engine has no image of the tag,
 * and no registry may be asked.
 */
export type Hold = (typeof holds)[number];

export const holds = [
  'failed',
  'cooldown',
  'monitor-only',
  'unsigned',
  'skipped',
  'snoozed',
  'approval',
  'window',
  'wave',
  'no-pull',
  'rate-limited',
  'unreachable',
  'unauthorised',
  'not-found',
  'other',
] as const;

/** The kind of reason for a failed check. */
export function holdOfFailure(code: ErrorCode | undefined): Hold {
  return (code !== undefined && byCode[code]) || 'other';
}

const byCode: Partial<Record<ErrorCode, Hold>> = {
  'registry-rate-limited': 'rate-limited',
  'registry-unreachable': 'unreachable',
  timeout: 'unreachable',
  'registry-denied': 'unauthorised',
  'registry-not-found': 'not-found',
};
