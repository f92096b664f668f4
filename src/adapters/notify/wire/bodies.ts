import type { HttpRequest } from './exchange.ts';

/** `{"a":1}` as a POST, without undefined fields. */
export function jsonPost(url: string, body: unknown, headers: Headers = {}): HttpRequest {
  return post(url, JSON.stringify(body), { 'content-type': 'application/json', ...headers });
}

/** `a=1&b=2` as a POST, without undefined fields. */
export function formPost(url: string, fields: Fields, headers: Headers = {}): HttpRequest {
  const type = 'application/x-www-form-urlencoded';
  return post(url, String(formOf(fields)), { 'content-type': type, ...headers });
}

type Headers = HttpRequest['headers'];
type Fields = Readonly<Record<string, string | undefined>>;

function post(url: string, body: string, headers: Headers): HttpRequest {
  return { method: 'POST', url: new URL(url), headers, body };
}

export function formOf(fields: Fields): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.append(name, value);
  return form;
}

/** Undefined for an empty text or list: requests omit undefined fields. */
export function orNone<Value extends string | readonly unknown[]>(value: Value): Value | undefined {
  return value.length === 0 ? undefined : value;
}
