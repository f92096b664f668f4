/** Caches a function's results for its first few texts; for callers with few, repeated texts. */
export function remembering<Value>(answer: (text: string) => Value): (text: string) => Value {
  const known = new Map<string, Value>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const value = answer(text);
    if (known.size < mostRemembered && text.length <= longestRemembered) known.set(text, value);
    return value;
  };
}

const mostRemembered = 500;
const longestRemembered = 100;
