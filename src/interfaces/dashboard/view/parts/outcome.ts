import type { OutcomeKind } from '../../state/documents/history.ts';

/** Icon, tone and text of an outcome. */
export const outcomeDisplay: Readonly<Record<OutcomeKind, readonly [sign: string, tone: string, word: string]>> = {
  updated: ['check', 'done', 'Updated'],
  rolled_back: ['back', 'wrong', 'Failed; went back'],
  went_back: ['back', 'held', 'Went back'],
  failed: ['fail', 'bad', 'Failed'],
  restarted: ['run', 'held', 'Restarted'],
  skipped: ['clock', 'held', 'Held back'],
  deferred: ['clock', 'held', 'Deferred'],
  unknown: ['unknown', 'wrong', 'Could not be checked'],
  fresh: ['check', 'fine', 'Up to date'],
};
