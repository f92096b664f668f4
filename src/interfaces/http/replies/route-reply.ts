import type { ServerResponse } from 'node:http';
import { constants, gzip } from 'node:zlib';
import { jsonType } from './errors.ts';

/** The reply of one route. A route sends it, or returns an object, which is sent as JSON with status 200. */
export class RouteReply {
  readonly raw: ServerResponse;
  readonly #headers: Record<string, string | number> = {};
  #status = 200;

  constructor(raw: ServerResponse, path: string) {
    this.raw = raw;
    if (path.startsWith('/v1/')) this.#headers['Cache-Control'] = 'no-store';
  }

  code(status: number): this {
    this.#status = status;
    return this;
  }

  header(name: string, value: string): this {
    this.#headers[name] = value;
    return this;
  }

  headers(headers: Readonly<Record<string, string>>): this {
    Object.assign(this.#headers, headers);
    return this;
  }

  redirect(location: string, status: number): this {
    return this.code(status).header('Location', location).send('');
  }

  /**
   * An object is sent as JSON. For `HEAD` Node drops the body but keeps its length. A longer text is compressed if the
   * client accepts that.
   */
  send(body?: string | Buffer | object): this {
    const isText = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
    const bytes = isText ? body : JSON.stringify(body);
    if (!isText) this.#headers['Content-Type'] ??= jsonType;
    if (bytes !== undefined && this.#isCompressible(bytes)) {
      const vary = this.raw.getHeader('Vary');
      this.#headers['Vary'] = vary === undefined ? 'Accept-Encoding' : `${String(vary)}, Accept-Encoding`;
      if (acceptsGzip(this.raw.req.headers['accept-encoding'])) {
        gzip(bytes, { level: constants.Z_BEST_SPEED }, (error, compressed) => {
          if (error !== null) return this.#end(bytes);
          this.#headers['Content-Encoding'] = 'gzip';
          // A strong tag stands for one sequence of bytes.
          if (this.#headers['ETag'] !== undefined) this.#headers['ETag'] = `W/${this.#headers['ETag']}`;
          this.#end(compressed);
        });
        return this;
      }
    }
    this.#end(bytes);
    return this;
  }

  #end(bytes: string | Buffer | undefined): void {
    if (bytes !== undefined) this.#headers['Content-Length'] = Buffer.byteLength(bytes);
    this.raw.writeHead(this.#status, this.#headers);
    this.raw.end(bytes);
  }

  #isCompressible(bytes: string | Buffer): boolean {
    const type = String(this.#headers['Content-Type'] ?? '');
    return bytes.length >= minCompressedBytes && /^(?:text\/|application\/(?:json|yaml))/.test(type);
  }
}

/** A shorter text fits into one packet anyway. */
const minCompressedBytes = 1400;

/** Whether `Accept-Encoding` names gzip and does not refuse it: https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3 */
function acceptsGzip(header: string | readonly string[] | undefined): boolean {
  const named = String(header ?? '')
    .toLowerCase()
    .split(',')
    .find((item) => /^\s*(?:x-)?gzip\s*(?:;|$)/.test(item));
  return named !== undefined && !/;\s*q=0(?:\.0*)?\s*$/.test(named);
}
