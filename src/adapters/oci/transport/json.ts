import { isJsonObject, type JsonObject } from '../../../domain/text/json-value.ts';

/** Undefined unless the text is a JSON object. The parser's error is dropped, because it quotes the text. */
export function parseJsonObject(text: string | Buffer): JsonObject | undefined {
  try {
    return objectOf(JSON.parse(text.toString()));
  } catch {
    return undefined;
  }
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
