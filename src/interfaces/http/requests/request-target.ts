import type { IncomingMessage } from 'node:http';
import type { Problem } from '../replies/errors.ts';

/** The path of a request's target as written: https://www.rfc-editor.org/rfc/rfc9112#section-3.2 */
export function pathOf(target: string): string {
  const local = localTarget(target);
  const query = local.search(/[?#]/);
  return query === -1 ? local : local.slice(0, query);
}

/** The query of a request's target, without its `?`. */
export function queryOf(target: string): string {
  const [local = ''] = localTarget(target).split('#', 1);
  const begin = local.indexOf('?');
  return begin === -1 ? '' : local.slice(begin + 1);
}

/** The target without scheme and host, and under `/v1/` without a trailing slash. */
export function normalTarget(target: string): string {
  const local = localTarget(target);
  const path = pathOf(local);
  const isTolerated = path.startsWith('/v1/') && path.length > '/v1/'.length && path.endsWith('/');
  return isTolerated ? path.slice(0, -1) + local.slice(path.length) : local;
}

function localTarget(target: string): string {
  if (target.startsWith('/')) return target;
  const [, rest] = /^https?:\/\/[^/?#]*(.*)$/i.exec(target) ?? [];
  if (rest === undefined) return target;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/**
 * The problem of a request without one valid `Host`. Node's own answer has no body, and Node accepts several hosts and
 * any text. https://www.rfc-editor.org/rfc/rfc9112#section-3.2
 */
export function hostProblemOf({ headers, rawHeaders, httpVersion }: IncomingMessage): Problem | undefined {
  if (headers.host === undefined) return httpVersion === '1.1' ? noHost : undefined;
  let hosts = 0;
  // Names and values alternate.
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.toLowerCase() === 'host') hosts += 1;
  if (hosts > 1) return severalHosts;
  return validHost.test(headers.host) ? undefined : invalidHost;
}

/** A name, an address, or nothing, and a port: https://www.rfc-editor.org/rfc/rfc3986#section-3.2.2 */
const validHost = /^(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*(?::\d*)?$|^\[[\w.~!$&'()*+,;=:%-]+\](?::\d*)?$/i;

const noHost: Problem = { status: 400, message: 'the request names no host' };
const severalHosts: Problem = { status: 400, message: 'the request names several hosts' };
const invalidHost: Problem = { status: 400, message: 'the request names an invalid host' };
