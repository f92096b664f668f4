import { parseJson } from '../../../domain/text/json.ts';
import { printable } from '../../../domain/text/printable.ts';
import type { HttpAnswer } from './exchange.ts';

/** The body as JSON; undefined if it is not JSON. */
export function jsonOf({ body }: HttpAnswer): unknown {
  return parseJson(body);
}

/** Undefined if the value is not an object or has no such field. */
export function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

/** The service's own text, at most 200 characters; empty without one. */
export function answerText(answer: HttpAnswer): string {
  const json = jsonOf(answer);
  if (json !== undefined) return short(textIn(json, 3));
  const isPage = /^\s*</.test(answer.body);
  return isPage ? '' : short(answer.body);
}

/** Fields in which the services put their errors, the most specific first. */
const errorFields = [
  ...['errcode', 'errorDescription', 'description', 'message', 'msg', 'errmsg', 'error', 'errors', 'errorMessage'],
  ...['reason', 'detail', 'result', 'title'],
];

function textIn(value: unknown, depth: number): string {
  if (typeof value === 'string') return value;
  if (depth === 0 || typeof value !== 'object' || value === null) return '';
  if (Array.isArray(value))
    return value
      .slice(0, 5)
      .map((item: unknown) => textIn(item, depth - 1))
      .filter(Boolean)
      .join(', ');
  const found = errorFields.map((name) => textIn(fieldOf(value, name), depth - 1)).filter(Boolean);
  return [...new Set(found)].slice(0, 2).join(': ');
}

function short(words: string): string {
  return printable(words.trim(), 200);
}
