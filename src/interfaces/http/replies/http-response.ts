import { type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { securityHeaders } from './security-headers.ts';

type Given = OutgoingHttpHeaders | OutgoingHttpHeader[];

/**
 * A reply with the security headers and those of the guards, besides its route's own. Node checks a header when it is
 * set and again when the head is written; these are only added to the head.
 */
export class HttpResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** Names and values alternate. */
  readonly commonHeaders: string[] = [];

  override writeHead(status: number, reason?: string | Given, given?: Given): this {
    const own = (typeof reason === 'string' ? given : reason) ?? {};
    if (Array.isArray(own)) return super.writeHead(status, [...securityHeaders({}), ...this.commonHeaders, ...own]);
    const head = [...securityHeaders(own), ...this.commonHeaders];
    for (const name in own) head.push(name, String(own[name]));
    return super.writeHead(status, head);
  }
}
