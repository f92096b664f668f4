import type { Clock } from '../../domain/outside/outside.ts';
import type { CheckedContainer } from '../check/checked-container.ts';
import type { DecisionBook } from '../check/decision-book.ts';
import type { HoldBack } from '../check/hold-back.ts';

/**
 * Why one of the checked containers must not be replaced now, though its check allowed it: a window has closed, or a
 * person has decided otherwise since.
 */
export type LastLook = (containers: readonly CheckedContainer[]) => Promise<string | undefined>;

export function createLastLook({ book, holdBack, clock }: LastLookParts): LastLook {
  return async (containers) => {
    const stale = containers.filter(({ status }) => status === 'stale');
    if (stale.length === 0) return undefined;
    const decisions = await book.refresh();
    const nowMs = clock.nowMs();
    return stale.map((one) => holdBack.again(one, decisions, nowMs)).find(({ status }) => status === 'held')?.reason;
  };
}

type LastLookParts = {
  readonly book: DecisionBook;
  readonly holdBack: HoldBack;
  readonly clock: Pick<Clock, 'nowMs'>;
};
