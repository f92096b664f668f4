import { words } from '../../../../domain/text/words.ts';
import type { OutcomeKind } from '../../state/documents/history.ts';
import { capitalized } from '../../state/words.ts';

/** Icon, tone and text of an outcome. */
export const outcomeDisplay: Readonly<Record<OutcomeKind, readonly [sign: string, tone: string, word: string]>> = {
  updated: ['check', 'done', capitalized(words.outcome.updated)],
  rolled_back: ['back', 'wrong', capitalized(words.outcome.rolled_back)],
  went_back: ['back', 'held', capitalized(words.outcome.went_back)],
  failed: ['fail', 'bad', capitalized(words.outcome.failed)],
  restarted: ['run', 'held', capitalized(words.outcome.restarted)],
  skipped: ['clock', 'held', capitalized(words.outcome.skipped)],
  deferred: ['clock', 'held', capitalized(words.outcome.deferred)],
  unknown: ['unknown', 'wrong', capitalized(words.outcome.unknown)],
  fresh: ['check', 'fine', capitalized(words.outcome.fresh)],
};
