/** Calls once for each key, also while the first call is under way. Failures are kept too. Its caller bounds the keys. */
export function remember<Args extends readonly unknown[], Result>(
  call: (...args: Args) => Promise<Result>,
  keyOf: (...args: Args) => string,
): (...args: Args) => Promise<Result> {
  const answers = new Map<string, Promise<Result>>();
  return (...args) => {
    const key = keyOf(...args);
    const answer = answers.get(key) ?? call(...args);
    answers.set(key, answer);
    return answer;
  };
}

/**
 * Returns a function that is true for the first call with each key. After `most` keys all are forgotten, and the next
 * call with each is a first one again.
 */
export function createFirstTimes(most: number): (key: string) => boolean {
  const known = new Set<string>();
  return (key) => {
    if (known.has(key)) return false;
    if (known.size >= most) known.clear();
    known.add(key);
    return true;
  };
}
