import type { WireAnswer } from '../../http/exchange.ts';
import { HttpFailure } from '../../http/failure.ts';
import type { Endpoint } from './endpoints.ts';

/** The query of the page after this one of a repository's list: of its tags, or of referrers. Undefined on the last page. */
export function nextQuery(
  { headers, elsewhere }: WireAnswer,
  { endpoint, repository }: { readonly endpoint: Endpoint; readonly repository: string },
  list: string,
): string | undefined {
  const link: unknown = headers['link'];
  const url = new URL(`https://${endpoint.host}${endpoint.prefix}/v2/${repository}/${list}`);
  return nextPage(typeof link === 'string' ? link : undefined, { url, behind: elsewhere });
}

type ListingPlace = {
  readonly url: URL;
  /** The target of the registry's redirect, e.g. from lscr.io to ghcr.io. */
  readonly behind?: Pick<URL, 'host' | 'pathname'> | undefined;
};

/**
 * The query of the next page, `?last=1.27&n=1000`, from a `Link` header (RFC 8288,
 * https://github.com/opencontainers/distribution-spec/blob/main/spec.md#listing-tags). Undefined on the last page. A
 * link to another host or path is refused, and only its query is used.
 */
export function nextPage(link: string | undefined, { url, behind }: ListingPlace): string | undefined {
  const target = link === undefined ? undefined : targetIn(link.slice(0, longestLink));
  if (target === undefined) return undefined;
  if (!URL.canParse(target, url.href)) throw refused('at an invalid URL');
  const next = new URL(target, url.href);
  if (next.host !== url.host && next.host !== behind?.host) throw refused('on another host');
  const isSame = next.pathname.endsWith(url.pathname) || url.pathname.endsWith(next.pathname);
  if (!isSame && next.pathname !== behind?.pathname) throw refused('at another path');
  return next.search === '' ? undefined : next.search;
}

const longestLink = 2000;

/** The target of the first link with the relation `next`. */
function targetIn(link: string): string | undefined {
  for (const [, target, parameters = ''] of link.matchAll(/<([^<>]*)>([^<]*)/g)) {
    if (/;\s*rel\s*=\s*"?(?:[^";,]*\s)?next(?=["\s;,]|$)/i.test(parameters)) return target;
  }
  return undefined;
}

function refused(where: string): HttpFailure {
  return new HttpFailure('invalid', `its list continues ${where}`);
}
