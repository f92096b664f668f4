import type { IncomingMessage, ServerResponse } from 'node:http';
import { isAllowedOrigin, parseOriginPattern } from '../../../domain/settings/http-settings.ts';

/** Access to the API for web pages of other origins. */
export type Cors = {
  /** Sets the headers of a reply. Returns `preflight` for a preflight, which needs no other reply. */
  readonly apply: (request: IncomingMessage, response: ServerResponse) => 'preflight' | 'request';
  /** Whether a page of this origin may follow the events. Pages of the request's own host always may. */
  readonly admits: (request: IncomingMessage) => boolean;
};

/**
 * An allowed origin is echoed, with credentials. `*` allows every origin, without credentials.
 * https://fetch.spec.whatwg.org/#http-cors-protocol
 */
export function createCors(origins: readonly string[]): Cors {
  const patterns = origins.flatMap((origin) => parseOriginPattern(origin) ?? []);
  const allowsAny = patterns.some(({ kind }) => kind === 'any');

  return {
    apply(request, response) {
      if (patterns.length === 0) return 'request';
      const { origin } = request.headers;
      if (!allowsAny) response.setHeader('Vary', 'Origin');
      const allowed = origin !== undefined && isAllowedOrigin(origin, patterns);
      const preflight = isPreflight(request);
      if (!allowed) return preflight ? 'preflight' : 'request';
      response.setHeader('Access-Control-Allow-Origin', allowsAny ? '*' : origin);
      if (!allowsAny) response.setHeader('Access-Control-Allow-Credentials', 'true');
      if (!preflight) {
        response.setHeader('Access-Control-Expose-Headers', readableHeaders);
        return 'request';
      }
      response.setHeader('Access-Control-Allow-Methods', 'GET, HEAD, POST, DELETE');
      response.setHeader('Access-Control-Allow-Headers', sendableHeaders);
      response.setHeader('Access-Control-Max-Age', '3600');
      return 'preflight';
    },
    admits: (request) => {
      const { origin } = request.headers;
      return origin === undefined || isOwn(origin, request.headers.host ?? '') || isAllowedOrigin(origin, patterns);
    },
  };
}

const sendableHeaders = 'Authorization, Content-Type, Accept, Cache-Control, Last-Event-ID, X-Request-Id';
const readableHeaders = 'X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After';

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
}

/**
 * Whether a page of this service sent the request. Browsers name the origin of a changing request. A proxy may have
 * replaced the host; a page of another origin cannot set the header with the one before it.
 */
export function isFromOwnPage({ headers }: IncomingMessage): boolean {
  const { origin, host = '', 'x-forwarded-host': forwarded = '' } = headers;
  if (origin === undefined || headers[pageHeader] === undefined) return false;
  return [host, ...String(forwarded).split(',')].some((each) => isOwn(origin, each.trim()));
}

/** Reason of a refusal. */
export const foreignPage =
  'this request is not from the page of this service: if it is, its proxy has to pass on the Host of the request';

/** Only scripts can set it, and those of other origins need a permission that CORS never gives. */
const pageHeader = 'x-upkeep-page';

/** Whether the origin has the request's host. The scheme may differ, because TLS may end at a proxy. */
function isOwn(origin: string, host: string): boolean {
  const [scheme = ''] = origin.split('://', 1);
  const own = parseOriginPattern(`${scheme}://${host}`);
  return own?.kind === 'exact' && isAllowedOrigin(origin, [own]);
}
