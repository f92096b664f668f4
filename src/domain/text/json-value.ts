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
 * Whether an object in this valid JSON names a field twice, also in another case. Parsers differ in which one they take,
 * and some ignore the case (https://pkg.go.dev/encoding/json#Unmarshal).
 */
export function repeatsField(text: string): boolean {
  const open: (Set<string> | undefined)[] = [];
  let string = '';
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === '"') {
      const end = endOfString(text, at);
      string = text.slice(at, end + 1);
      at = end;
    } else if (sign === '{') open.push(new Set());
    else if (sign === '[') open.push(undefined);
    else if (sign === '}' || sign === ']') open.pop();
    else if (sign === ':') {
      const fields = open.at(-1);
      const field = foldCase(String(parseJson(string)));
      if (fields?.has(field)) return true;
      fields?.add(field);
    }
  }
  return false;
}

/** The place of the quotation mark that ends a string of valid JSON; `start` is that of the first one. */
export function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

/** The name of a field as a parser sees it that ignores the case. Both directions, because the long s has an upper case only, and the sign of kelvin a lower case only. */
export function foldCase(text: string): string {
  return text.toUpperCase().toLowerCase();
}
