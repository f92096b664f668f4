import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock, Log } from '../../domain/outside.ts';
import { pathOf } from './request-target.ts';

type Access = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly address: string;
};

/** Writes one line once the reply has ended, or its reader has gone; the query stays out, since it may hold a token. */
export function logAccess({ request, response, requestId, address }: Access, { clock, log }: LogParts): void {
  const beganMs = clock.monotonicMs();
  const { method = '', url = '' } = request;
  response.once('close', () => {
    const write = (): void =>
      log.info('Request', {
        request_id: requestId,
        client: address,
        method,
        path: pathOf(url).slice(0, longestPath),
        status: response.headersSent ? response.statusCode : clientClosedRequest,
        duration_ms: Math.round((clock.monotonicMs() - beganMs) * 10) / 10,
      });
    // A route that notices that the client has gone decides on a status all the same.
    if (response.headersSent) write();
    else setImmediate(write);
  });
}

type LogParts = { readonly clock: Clock; readonly log: Log };

const longestPath = 300;

/** nginx's code for a reader that went before there was a reply. */
const clientClosedRequest = 499;
