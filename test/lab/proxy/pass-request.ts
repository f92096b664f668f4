import http from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault, FaultProxyOptions, ProxiedCall, Writable } from './fault-proxy.ts';
import { headerPairs } from './header-pairs.ts';

/** One request on its way through the proxy. */
export type Passage = {
  readonly request: IncomingMessage;
  readonly call: Writable<ProxiedCall>;
  readonly fault: Fault | undefined;
  readonly upstream: FaultProxyOptions['upstream'];
};

/** Forwards a request and its answer, with the effects of the fault. */
export async function passRequest({
  request,
  response,
  call,
  fault,
  upstream,
}: Passage & { response: ServerResponse }): Promise<void> {
  if (fault && 'when' in fault && fault.when === 'before' && (await strikeBefore(fault, request, response))) return;

  // Short bodies, and bodies that a fault repeats or cuts, are collected first: a refusing engine may close
  // before the second of two writes. All others stream through.
  const isShort = Number(request.headers['content-length'] ?? Infinity) < 1_000_000;
  const collected = fault || isShort ? await readAll(request) : undefined;
  if (fault?.kind === 'duplicate') await readAll(await send({ request, upstream, body: collected }).reply);
  const sent = send({ request, upstream, body: collected });
  response.on('close', () => sent.abort());
  if (fault && 'when' in fault && fault.when === 'during') {
    await sent.handedOver;
    strikeDead(fault, request);
    sent.abort();
    return;
  }
  const reply = await sent.reply;
  call.status = reply.statusCode;
  if (fault && 'when' in fault && fault.when === 'after') {
    const body = await readAll(reply);
    if (await strikeAfter(fault, request, response)) return;
    response.writeHead(reply.statusCode ?? 502, endToEnd(reply.rawHeaders)).end(body);
    return;
  }
  response.writeHead(reply.statusCode ?? 502, reply.statusMessage, endToEnd(reply.rawHeaders));
  response.flushHeaders();
  reply.on('error', () => reset(request));
  if (fault?.kind === 'cut') await cutShort(fault.bytes, reply, request, response);
  else reply.pipe(response);
}

/** True if the request needs no further work. */
async function strikeBefore(fault: Fault, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
  if (fault.kind === 'answer') await readAll(request);
  return strikeAfter(fault, request, response);
}

async function strikeAfter(fault: Fault, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
  switch (fault.kind) {
    case 'hang':
      return true;
    case 'delay':
      await sleep(fault.ms);
      return false;
    case 'meanwhile':
      await fault.act();
      return false;
    case 'answer': {
      const body = fault.body ?? JSON.stringify({ message: 'a fault of the test' });
      response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers }).end(body);
      return true;
    }
    case 'reset':
    case 'kill':
      strikeDead(fault, request);
      return true;
    case 'duplicate':
    case 'cut':
      return false;
  }
}

/** Kills the process that the fault names, then cuts the client's connection. */
export function strikeDead(fault: Fault, request: IncomingMessage): void {
  if (fault.kind === 'kill') {
    if (typeof fault.kill === 'number') process.kill(fault.kill, 'SIGKILL');
    else fault.kill();
  }
  reset(request);
}

function reset(request: IncomingMessage): void {
  request.socket.destroy();
}

async function cutShort(
  bytes: number,
  reply: IncomingMessage,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let remainingBytes = bytes;
  for await (const chunk of reply as AsyncIterable<Buffer>) {
    await new Promise((resolve) => response.write(chunk.subarray(0, remainingBytes), resolve));
    remainingBytes -= chunk.length;
    if (remainingBytes <= 0) break;
  }
  reset(request);
}

type Sent = {
  readonly reply: Promise<IncomingMessage>;
  /** The kernel has the whole request, and the upstream had a moment to read it. */
  readonly handedOver: Promise<void>;
  readonly abort: () => void;
};

function send({
  request,
  upstream,
  body,
}: Pick<Passage, 'request' | 'upstream'> & { readonly body: Buffer | undefined }): Sent {
  const outgoing = http.request({
    ...upstream,
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers: { ...request.headers, connection: 'close' },
    agent: false,
  });
  const reply = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.on('response', resolve);
    outgoing.on('error', reject);
  });
  reply.catch(() => {});
  const handedOver = new Promise<void>((resolve) => outgoing.on('finish', () => setTimeout(resolve, 5)));
  if (body === undefined) request.pipe(outgoing);
  else outgoing.end(body);
  return { reply, handedOver, abort: () => outgoing.destroy() };
}

async function readAll(stream: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Removes the headers about the upstream's connection, so that the client's connection can stay open. */
function endToEnd(rawHeaders: readonly string[]): string[] {
  return headerPairs(rawHeaders).flatMap(([name, value]) =>
    /^(?:connection|keep-alive)$/i.test(name) ? [] : [name, value],
  );
}
