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
