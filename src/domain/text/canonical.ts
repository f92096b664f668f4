/**
 * A text that is equal for values that the engine treats alike. Engines print an unset field as null, an empty list,
 * object or string, 0, false, or not at all: the text of all these is empty. The order of an object's fields does not
 * count; the order of a list does.
 */
export function canonical(value: unknown): string {
  const kept = compact(value);
  return kept === undefined ? '' : JSON.stringify(kept);
}

export function sameToEngine(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b);
}

function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => compactItem(item));
  if (typeof value !== 'object' || value === null) return value === 0 || value === '' ? undefined : value || undefined;
  const entries = Object.entries(value)
    .map(([field, item]) => [field, compact(item)] as const)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** An empty item has a place in its list, unlike an empty field. */
function compactItem(item: unknown): unknown {
  return typeof item === 'object' ? (compact(item) ?? {}) : item;
}
