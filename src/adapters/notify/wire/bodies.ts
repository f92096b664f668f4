import type { HttpRequest } from './exchange.ts';

/** `{"a":1}` as a POST; fields that are undefined are left out. */
export function jsonPost(url: string, body: unknown, headers: Readonly<Record<string, string>> = {}): HttpRequest {
  return {
    method: 'POST',
    url: new URL(url),
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  };
}

/** `a=1&b=2` as a POST; fields that are undefined are left out. */
export function formPost(
  url: string,
  fields: Readonly<Record<string, string | undefined>>,
  headers: Readonly<Record<string, string>> = {},
): HttpRequest {
  return {
    method: 'POST',
    url: new URL(url),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: String(formOf(fields)),
  };
}

export function formOf(fields: Readonly<Record<string, string | undefined>>): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.append(name, value);
  return form;
}

/** Undefined for an empty text, so that its field is left out. */
export function orNone(text: string): string | undefined {
  return text === '' ? undefined : text;
}
