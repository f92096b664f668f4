import { withoutSecretParts } from '../../../domain/text/hidden-secrets.ts';
import type { UrlParts } from './parts.ts';

/**
 * The URL for people and logs. Each part that contains one of the secrets is `[redacted]`, and so are the user, the
 * password, and an address with a login or query of its own.
 */
export function redactedUrl(parts: UrlParts, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret !== '');
  const isSecret = (text: string): boolean =>
    known.some((secret) => text.includes(secret)) || (text.includes('://') && withoutSecretParts(text) !== text);
  const hide = (text: string): string => (isSecret(text) ? hidden : text);
  // A user or password with a slash that is not escaped: the rest of it is in the path.
  const isLoginCut = parts.user === '' && parts.segments.some((segment) => segment.indexOf('@') > 0);
  const host = isLoginCut ? hidden : hide(parts.host) + (parts.port === '' ? '' : `:${parts.port}`);
  const path = isLoginCut ? '' : parts.segments.map((segment) => `/${hide(segment)}`).join('');
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
