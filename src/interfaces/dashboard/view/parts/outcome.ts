import type { PastOutcome } from '../../state/documents/history.ts';

/** Icon and tone of an outcome. */
export const outcomeDisplay: Readonly<Record<PastOutcome['outcome'], readonly [sign: string, tone: string]>> = {
  updated: ['check', 'done'],
  rolled_back: ['back', 'wrong'],
  went_back: ['back', 'held'],
  failed: ['fail', 'bad'],
  restarted: ['run', 'held'],
  skipped: ['clock', 'held'],
  deferred: ['clock', 'held'],
  unknown: ['unknown', 'wrong'],
  fresh: ['check', 'fine'],
};
