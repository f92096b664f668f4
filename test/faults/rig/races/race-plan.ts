import { random } from '../random.ts';

/** Several instances of the service at once, as a seed decides. */
export type RacePlan = { readonly seed: number; readonly entrants: readonly Entrant[] };

export type Entrant = {
  readonly kind: EntrantKind;
  /** With the first one (0), or when that makes this change, counted from 1, which then waits for it. */
  readonly comesAt: number;
  /** How many calls it has made when the waiting change goes on. */
  readonly callsBefore: number;
  /** How long each of its changes, from the first, is held up on its way to the engine. */
  readonly delaysMs: readonly number[];
  /** It dies with the answer to this change, counted from 1. */
  readonly diesAt?: number;
};

/** `recoverer`: has nothing to do but what an interrupted update left. */
export type EntrantKind = 'updater' | 'service' | 'recoverer';

/** The same race for the same seed; what the machine makes of it differs a little each time. */
export function planRace(seed: number): RacePlan {
  const below = random(seed);
  const [oneDies, allTogether] = [below(3) === 0, below(3) === 0];
  const entrants = Array.from({ length: 2 + below(4) }, (_, index): Entrant => {
    const slowestMs = below(2) === 0 ? 1 : 80;
    return {
      kind: index === 0 ? 'updater' : kinds[below(kinds.length)]!,
      comesAt: index === 0 || allTogether ? 0 : below(mostChanges),
      callsBefore: 1 + below(20),
      delaysMs: Array.from({ length: mostChanges }, () => below(slowestMs)),
      ...(oneDies && index === 0 ? { diesAt: 1 + below(mostChanges) } : {}),
    };
  });
  return { seed, entrants };
}

const kinds: readonly EntrantKind[] = ['updater', 'updater', 'service', 'recoverer'];

/** About as many as an update makes. */
const mostChanges = 14;
