import type { ServerResponse } from 'node:http';
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

  /** An object is sent as JSON. For `HEAD` Node drops the body but keeps its length. */
  send(body?: string | Buffer | object): this {
    const isText = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
    const bytes = isText ? body : JSON.stringify(body);
    if (!isText) this.#headers['Content-Type'] ??= jsonType;
    if (bytes !== undefined) this.#headers['Content-Length'] = Buffer.byteLength(bytes);
    this.raw.writeHead(this.#status, this.#headers);
    this.raw.end(bytes);
    return this;
  }
}
