/** A JSON object from outside, with unknown fields. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Undefined unless the text is JSON. The parser's error is dropped, because it quotes the text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined unless the text is a JSON object. */
export function parseJsonObject(text: { toString(): string }): JsonObject | undefined {
  return objectOf(parseJson(text.toString()));
}

export function objectOf(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

export function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A whole number from 0 that is exact. */
export function isWholeNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

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

/** The fields of a document. `names` by their folded form. The names of the fields within `maps` are free. */
type KnownFields = {
  readonly names: ReadonlyMap<string, string>;
  readonly maps: ReadonlySet<string>;
};

/**
 * Why programs may read this valid JSON differently; undefined if they do not. They take the first or the last of two
 * fields, or merge both, and some ignore the case of a name, as Go does (https://pkg.go.dev/encoding/json#Unmarshal).
 * Without `known`, two names in an object may not differ by their case only. With it, that concerns the known names, and
 * one of them may not appear in another case at all.
 */
export function doubtIn(text: string, known?: KnownFields): string | undefined {
  const levels: Level[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const level = levels.at(-1);
    switch (text.charAt(at)) {
      case '{':
      case '[': {
        if (levels.length === maxDepth) return 'it is nested too deep';
        const isObject = text[at] === '{';
        // The entries of a list belong to the field that holds the list.
        const name = level?.name ?? '';
        const isMap = level?.isMap === true || (isObject && known?.maps.has(name) === true);
        levels.push({ seen: isObject ? new Set() : undefined, isMap, isNameNext: isObject, name });
        break;
      }
      case '}':
      case ']':
        levels.pop();
        break;
      case ',':
        if (level?.seen !== undefined) level.isNameNext = true;
        break;
      case '"': {
        const end = endOfString(text, at);
        if (level?.seen !== undefined && level.isNameNext) {
          const doubt = takeName(String(parseJson(text.slice(at, end + 1))), level, known?.names);
          if (doubt !== undefined) return doubt;
        }
        at = end;
        break;
      }
    }
  }
  return undefined;
}

/** The object or list around a place in the text. */
type Level = {
  /** Names of an object so far. Undefined in a list. */
  readonly seen: Set<string> | undefined;
  /** The names are free, such as those of labels. */
  readonly isMap: boolean;
  isNameNext: boolean;
  name: string;
};

function takeName(name: string, level: Level, names: KnownFields['names'] | undefined): string | undefined {
  const known = names?.get(foldCase(name));
  if (!level.isMap && known !== undefined && known !== name) return `a field looks like "${known}", but is not`;
  const key = names === undefined ? foldCase(name) : name;
  if (level.seen?.has(key)) return known === undefined ? 'a field is given twice' : `"${known}" is given twice`;
  level.seen?.add(key);
  level.name = name;
  level.isNameNext = false;
  return undefined;
}

/** Deeper than any manifest, and than any signature. */
const maxDepth = 32;

/** For `KnownFields`. */
export function namesOf(list: string): KnownFields['names'] {
  return new Map(list.split(' ').map((name) => [foldCase(name), name]));
}

/** The place of the quotation mark that ends a string of valid JSON; `start` is that of the first one. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

/**
 * The name of a field as a parser sees it that ignores the case. Both directions, because the long s has an upper case
 * only, and the sign of kelvin a lower case only.
 */
function foldCase(text: string): string {
  return text.toUpperCase().toLowerCase();
}
