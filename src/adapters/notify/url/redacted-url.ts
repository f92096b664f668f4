import type { UrlParts } from './parts.ts';

/**
 * The URL for people and logs. Each part that contains one of the secrets is `[redacted]`, and so are the user and the
 * password.
 */
export function redactedUrl(parts: UrlParts, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret !== '');
  const hide = (text: string): string => (known.some((secret) => text.includes(secret)) ? hidden : text);
  const host = hide(parts.host) + (parts.port === '' ? '' : `:${parts.port}`);
  const path = parts.segments.map((segment) => `/${hide(segment)}`).join('');
  const search = parts.query
    .map(([key, value]) => `${hide(key)}=${hide(value)}`)
    .filter((pair) => !pair.includes(hidden))
    .join('&');
  const login = parts.user + parts.password === '' ? '' : `${hidden}@`;
  const shown = `${schemeOf(parts)}://${login}${host}${path}${search === '' ? '' : `?${search}`}`;
  return shown.replaceAll(repeated, hidden);
}

const hidden = '[redacted]';
const repeated = /\[redacted\](?:\/\[redacted\])+/g;

function schemeOf({ scheme, variant }: UrlParts): string {
  return variant === '' ? scheme : `${scheme}+${variant}`;
}
