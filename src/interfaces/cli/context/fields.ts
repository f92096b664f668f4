import { ServiceError } from '../../../domain/text/errors.ts';
import { isJsonObject, type JsonObject } from '../../../domain/text/json.ts';
import { printable, quoted } from '../../../domain/text/printable.ts';

/** The objects of a list in a document. Throws `service-invalid` if there is no such list. */
export function listOf(document: JsonObject, name: string): readonly JsonObject[] {
  const list = document[name];
  if (Array.isArray(list) && list.every(isJsonObject)) return list;
  throw new ServiceError(
    'service-invalid',
    `Cannot read the answer of the service: it holds no list of ${quoted(name)}`,
  );
}

/** Text that is safe to print. Empty for a value that is neither text nor number. */
export function textOf(object: JsonObject, name: string, maxLength = 300): string {
  const value = object[name];
  return typeof value === 'string' || typeof value === 'number' ? printable(String(value), maxLength) : '';
}

/** Raw text, at most 10,000 characters, not safe to print. Empty for a value that is neither text nor number. */
export function rawTextOf(object: JsonObject, name: string): string {
  const value = object[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, 10_000) : '';
}

/** 0 for a value that is not a number. */
export function numberOf(object: JsonObject, name: string): number {
  const value = object[name];
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

/** The raw name of the engine; absent with one engine. */
export function engineOf(object: JsonObject): { readonly engine?: string } {
  const engine = rawTextOf(object, 'engine');
  return engine === '' ? {} : { engine };
}
