import { putNewest } from '../../../domain/text/plain-data.ts';

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

  const set = (key: string, value: Value): void => putNewest(entries, key, value, maxEntries);

  return {
    get(key) {
      const value = entries.get(key);
      if (value !== undefined) set(key, value);
      return value;
    },
    set,
    delete: (key) => void entries.delete(key),
    values: () => entries.values(),
    clear: () => entries.clear(),
  };
}
