import { authorityOf, type UrlParts } from '../url/parts.ts';
import { UrlProblem } from '../url/problem.ts';

/** `host:port` of a server that the user runs; throws where there is none that can be asked. */
export function serverOf(parts: UrlParts, defaultPort = ''): string {
  const { host, port } = parts;
  if (host === '') throw new UrlProblem('the host', 'is missing');
  const server = authorityOf({ host, port: port === '' ? defaultPort : port });
  if (!URL.canParse(`https://${server}/`)) throw new UrlProblem('the host', 'is no host name');
  return server;
}

/** A part that has to be there. */
export function needed(value: string | undefined, part: string): string {
  if (value === undefined || value === '') throw new UrlProblem(part, 'is missing');
  return value;
}

/** A part that has to look like that. */
export function matching(value: string | undefined, pattern: RegExp, part: string): string {
  const found = needed(value, part);
  if (!pattern.test(found)) throw new UrlProblem(part, 'is not of the form that the service gives out');
  return found;
}

/** Whole segments joined again, each encoded. */
export function pathOf(segments: readonly string[]): string {
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join('');
}
