/** A map that drops its least recently used entry. */
export type Lru<Value> = {
  readonly get: (key: string) => Value | undefined;
  readonly set: (key: string, value: Value) => void;
  readonly delete: (key: string) => void;
  readonly values: () => Iterable<Value>;
  readonly clear: () => void;
};

/** Holds at most `maxEntries`; reading counts as use. */
export function createLru<Value>(maxEntries: number): Lru<Value> {
  const entries = new Map<string, Value>();
  /** Skips the move if the entry is already the last one. */
  let newest: string | undefined;

  function get(key: string): Value | undefined {
    const value = entries.get(key);
    if (value === undefined || key === newest) return value;
    entries.delete(key);
    entries.set(key, value);
    newest = key;
    return value;
  }

  function set(key: string, value: Value): void {
    entries.delete(key);
    entries.set(key, value);
    newest = key;
    if (entries.size <= maxEntries) return;
    for (const oldest of entries.keys()) {
      entries.delete(oldest);
      return;
    }
  }

  return {
    get,
    set,
    delete: (key) => void entries.delete(key),
    values: () => entries.values(),
    clear: () => entries.clear(),
  };
}
