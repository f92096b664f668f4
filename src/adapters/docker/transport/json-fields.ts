import { arrayOf, isJsonObject, type JsonObject } from '../../../domain/text/json.ts';

/**
 * An object's fields; none if the value is not an object. The engine's JSON is read field by field with a default for
 * each, so that a missing or unexpected field affects only itself.
 */
export function fields(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

export function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined;
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

export function texts(value: unknown): readonly string[] {
  return arrayOf(value).filter((item) => typeof item === 'string');
}

export function isTextMap(value: unknown): value is Readonly<Record<string, string>> {
  return isJsonObject(value) && Object.values(value).every((item) => typeof item === 'string');
}

/** Entries with a string value. `fromEntries` treats the key `__proto__` like any other. */
export function textMap(value: unknown): Readonly<Record<string, string>> {
  if (isTextMap(value)) return value;
  return Object.fromEntries(
    Object.entries(fields(value)).flatMap(([key, item]) => (typeof item === 'string' ? [[key, item]] : [])),
  );
}

/** RFC 3339 to milliseconds since the epoch; 0 for any other text, and for Go's zero time of the year 1. */
export function timeMs(value: unknown): number {
  const ms = Date.parse(text(value));
  return ms > 0 ? ms : 0;
}

/** Replaces half of a surrogate pair, on which `encodeURIComponent` throws, with the replacement character. */
export function pathSegment(value: string): string {
  return encodeURIComponent(Buffer.from(value).toString());
}
