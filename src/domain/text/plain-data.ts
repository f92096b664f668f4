/** Functions on maps, lists and records that JavaScript lacks. */

/** Makes an entry the newest of a map, and drops the oldest one if the map has more than `max` entries then. */
export function putNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}

/** Adds a value to the list of a key. Copies nothing, so that long lists stay cheap. */
export function addTo<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

/** The same fields, without those that are undefined. */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) kept[name] = value;
  // Only undefined values are omitted.
  return kept as Defined<Fields>;
}

type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** The same items, in the same order; items compare by identity. */
export function isSameList(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index]);
}

/** The same fields with the same values; values compare by identity. */
export function isSameRecord(
  one: Readonly<Record<string, unknown>>,
  other: Readonly<Record<string, unknown>>,
): boolean {
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && one[name] === other[name])
  );
}

/**
 * FNV-1a of 64 bits as 16 hex digits; shortens a text that may not fit its field:
 * https://www.rfc-editor.org/rfc/rfc9923
 */
export function fnv64(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, '0');
}

/** A map that drops its least recently used entry. */
type Lru<Value> = {
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

/** `412 MB`: decimal units, as in registries. */
export function formatBytes(bytes: number): string {
  const megabytes = bytes / 1e6;
  if (megabytes < 0.9995) return `${Math.ceil(bytes / 1000)} kB`;
  return megabytes < 999.5 ? `${Math.round(megabytes)} MB` : `${(megabytes / 1000).toFixed(1)} GB`;
}
