import { readTarget } from '../../../src/adapters/notify/targets.ts';
import { readParts, toServiceUrl, type UrlParts } from '../../../src/adapters/notify/service/url.ts';
import { queryPairs, readQuery } from '../../../src/adapters/notify/service/service.ts';

/** The URL again as its service has read it, with the same meaning and all secrets. Throws if it cannot be used. */
export function printedUrl(url: string): string {
  const outcome = readTarget(url);
  if (outcome.kind !== 'usable') throw new Error(outcome.kind === 'unusable' ? outcome.why : outcome.kind);
  const { parameters } = outcome.service;
  const parts = readParts(toServiceUrl(url));
  const query = readQuery(parameters, parts.query);
  const own = Object.entries(parameters).flatMap(([key, { aliases }]) => [key, ...aliases]);
  const names = new Set(own.map((name) => name.toLowerCase()));
  // A key of the service with a leading `__` is one of the others.
  const others = query.others.map(([key, value]) => [names.has(key.toLowerCase()) ? `__${key}` : key, value] as const);
  return wholeUrl({ ...parts, query: [...queryPairs(parameters, query), ...others] });
}

/** Parsing it gives the same parts. */
function wholeUrl(parts: UrlParts): string {
  const scheme = parts.variant === '' ? parts.scheme : `${parts.scheme}+${parts.variant}`;
  const login = [parts.user, parts.password].map(encodeURIComponent);
  const search = parts.query.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
  return (
    `${scheme}://${login.join(':').replace(/:$/, '')}${parts.user + parts.password === '' ? '' : '@'}` +
    `${encodeHost(parts.host)}${parts.port === '' ? '' : `:${parts.port}`}${parts.path}` +
    `${search === '' ? '' : `?${search}`}${parts.fragment === '' ? '' : `#${encodeURIComponent(parts.fragment)}`}`
  );
}

/** An IPv6 address keeps its brackets and colons. */
function encodeHost(host: string): string {
  return host.startsWith('[') ? host : encodeURIComponent(host).replaceAll('%2B', '+');
}
