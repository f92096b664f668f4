import type { Exchange, WireAnswer, WireRequest } from './exchange.ts';
import { cut, RegistryFailure } from './failure.ts';

/**
 * An exchange that follows redirects of GET and HEAD: at most five, never from https to http, and without our
 * credentials after a change of host. Registries redirect to their stores:
 * https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pulling-blobs
 */
export function followingRedirects(exchange: Exchange): Exchange {
  return async function follow(wanted, signal) {
    let request = wanted;
    for (let hops = 0; hops <= maxRedirects; hops += 1) {
      const answer = await exchange(request, signal);
      const target = redirectOf(request, answer);
      if (target === undefined)
        return request.url.host === wanted.url.host ? answer : { ...answer, elsewhere: request.url };
      request = redirected(request, target);
    }
    throw refuse(wanted, `it redirects more than ${maxRedirects} times`);
  };
}

const maxRedirects = 5;

/** 303 requests a GET, so the method does not change. Redirects of POST are not followed: only token servers get it. */
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function redirectOf(request: WireRequest, { status, headers, showable }: WireAnswer): URL | undefined {
  if (!redirects.has(status) || headers.location === undefined || request.method === 'POST') return undefined;
  const { location } = headers;
  if (!URL.canParse(location, request.url.href)) throw refuse(request, `it redirects to "${showable(cut(location))}"`);
  const target = new URL(location, request.url.href);
  if (target.protocol === 'https:' || (target.protocol === 'http:' && request.url.protocol === 'http:')) return target;
  throw refuse(request, `it redirects from ${request.url.protocol} to ${showable(cut(target.protocol))}`);
}

function redirected(request: WireRequest, url: URL): WireRequest {
  if (url.origin === request.url.origin) return { ...request, url };
  const { authorization: _, ...headers } = request.headers;
  return { ...request, url, headers };
}

function refuse({ url }: WireRequest, why: string): RegistryFailure {
  return new RegistryFailure('invalid', why, { host: url.host });
}
