import { type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';

type Given = OutgoingHttpHeaders | OutgoingHttpHeader[];

/**
 * Adds the security headers and the guards' headers to those of the route. They are only added to the head, because
 * Node checks a header when it is set and again when the head is written.
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

  /**
   * Ends a reply that waits behind another one, when their connection has closed. Node closes only the first:
   * https://nodejs.org/api/http.html#event-close_2
   */
  abandon(): void {
    if (this.socket !== null) return;
    this.destroy();
    this.emit('close');
  }
}

/**
 * Headers of every reply, names and values alternating. A page has its own content security policy.
 * https://owasp.org/www-project-secure-headers/
 */
function securityHeaders(own: OutgoingHttpHeaders): readonly string[] {
  return own['Content-Security-Policy'] === undefined ? withPolicy : withoutPolicy;
}

const withoutPolicy = [
  ...['X-Content-Type-Options', 'nosniff'],
  ...['X-Frame-Options', 'DENY'],
  ...['Referrer-Policy', 'no-referrer'],
  ...['Cross-Origin-Opener-Policy', 'same-origin'],
  ...['Cross-Origin-Embedder-Policy', 'require-corp'],
  ...['Cross-Origin-Resource-Policy', 'same-origin'],
];

const withPolicy = [...withoutPolicy, 'Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"];
