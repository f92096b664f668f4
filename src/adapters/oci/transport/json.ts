import { isJsonObject, type JsonObject, parseJson } from '../../../domain/text/json-value.ts';

/** Undefined unless the text is a JSON object. */
export function parseJsonObject(text: string | Buffer): JsonObject | undefined {
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
