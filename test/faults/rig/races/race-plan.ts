import { random } from '../random.ts';

/** Several instances of the service at once, chosen by a seed. */
export type RacePlan = { readonly seed: number; readonly entrants: readonly Entrant[] };

export type Entrant = {
  readonly kind: EntrantKind;
  /** Starts with the first one (0), or when that makes this change, counted from 1, which then waits for it. */
  readonly comesAt: number;
  /** Number of its calls after which the waiting change continues. */
  readonly callsBefore: number;
  /** Delays of its changes, from the first. */
  readonly delaysMs: readonly number[];
  /** It is killed at the answer to this change, counted from 1. */
  readonly diesAt?: number;
};

/** `recoverer`: only repairs after an interrupted update. */
export type EntrantKind = 'updater' | 'service' | 'recoverer';

/** The plan of a seed is always the same; the timing on the machine varies. */
export function planRace(seed: number): RacePlan {
  const below = random(seed);
  const [oneDies, allTogether] = [below(3) === 0, below(3) === 0];
  const entrants = Array.from({ length: 2 + below(4) }, (_, index): Entrant => {
    const slowestMs = below(2) === 0 ? 1 : 80;
    return {
      kind: index === 0 ? 'updater' : kinds[below(kinds.length)]!,
      comesAt: index === 0 || allTogether ? 0 : below(maxChanges),
      callsBefore: 1 + below(20),
      delaysMs: Array.from({ length: maxChanges }, () => below(slowestMs)),
      ...(oneDies && index === 0 ? { diesAt: 1 + below(maxChanges) } : {}),
    };
  });
  return { seed, entrants };
}

const kinds: readonly EntrantKind[] = ['updater', 'updater', 'service', 'recoverer'];

/** About the number of changes of an update. */
const maxChanges = 14;
