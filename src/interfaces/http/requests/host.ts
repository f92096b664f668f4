import type { IncomingMessage } from 'node:http';
import type { Problem } from '../replies/errors.ts';

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
