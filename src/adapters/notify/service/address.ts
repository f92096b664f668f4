import { authorityOf, type UrlParts } from '../url/parts.ts';
import { InvalidUrlError } from '../url/invalid-url-error.ts';

/** `host:port` of a server that the user runs. Throws if it is not a valid host. */
export function serverOf(parts: UrlParts, defaultPort = ''): string {
  const { host, port } = parts;
  if (host === '') throw new InvalidUrlError('the host', 'is missing');
  const server = authorityOf({ host, port: port === '' ? defaultPort : port });
  if (!URL.canParse(`https://${server}/`)) throw new InvalidUrlError('the host', 'is no host name');
  return server;
}

/** Host and port of a server without HTTP; an IPv6 address has no brackets. Throws if it is not a valid host. */
export function endpointOf(parts: UrlParts, defaultPort: number): { readonly host: string; readonly port: number } {
  serverOf(parts);
  return { host: parts.host.replaceAll(/[[\]]/g, ''), port: parts.port === '' ? defaultPort : Number(parts.port) };
}

export function required(value: string | undefined, part: string): string {
  if (value === undefined || value === '') throw new InvalidUrlError(part, 'is missing');
  return value;
}

export function requiredMatch(value: string | undefined, pattern: RegExp, part: string): string {
  const found = required(value, part);
  if (!pattern.test(found)) throw new InvalidUrlError(part, 'is not of the form that the service gives out');
  return found;
}

/** Joins whole segments, each encoded. */
export function pathOf(segments: readonly string[]): string {
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join('');
}
