import http from 'node:http';
import https from 'node:https';

export type HttpRequest = {
  readonly method?: string;
  /** `http://…`, `https://…`; with `socketPath` only its path and query count. */
  readonly url: string;
  readonly socketPath?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** The authority that signed the server's certificate, PEM. */
  readonly ca?: string;
  readonly timeoutMs?: number;
};

export type HttpReply = {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
};

/** One request on its own connection, with the whole reply in memory. Rejects if no reply arrives in time. */
export function httpRequest(request: HttpRequest): Promise<HttpReply> {
  const url = new URL(request.url);
  return new Promise((resolve, reject) => {
    const client = url.protocol === 'https:' ? https : http;
    const outgoing = client.request(
      url,
      {
        method: request.method ?? 'GET',
        agent: false,
        timeout: request.timeoutMs ?? 60_000,
        headers: {
          ...request.headers,
          ...(request.body === undefined ? {} : { 'content-length': String(Buffer.byteLength(request.body)) }),
        },
        ...(request.socketPath === undefined ? {} : { socketPath: request.socketPath }),
        ...(request.ca === undefined ? {} : { ca: request.ca }),
      },
      (reply) => {
        const chunks: Buffer[] = [];
        reply.on('data', (chunk: Buffer) => chunks.push(chunk));
        reply.on('error', reject);
        reply.on('end', () =>
          resolve({ status: reply.statusCode ?? 0, headers: reply.headers, body: Buffer.concat(chunks) }),
        );
      },
    );
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no reply in time from ${request.url}`)));
    outgoing.on('error', reject);
    outgoing.end(request.body);
  });
}
