import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFaultProxy } from './fault-proxy.ts';
import type { Fault, FaultProxy } from './fault-proxy.ts';
import { httpRequest } from '../http.ts';

describe('createFaultProxy()', () => {
  let dir: string;
  let upstream: http.Server;
  let proxy: FaultProxy;
  /** Requests that the upstream has read to the end. */
  let seen: string[];
  let answers: http.ServerResponse[];

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'proxy-'));
    seen = [];
    answers = [];
    upstream = http.createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        seen.push(`${request.method} ${request.url} ${Buffer.concat(chunks).toString()}`.trim());
        answers.push(response);
        if (request.url === '/stream') response.write('one');
        else if (request.url !== '/silent') response.writeHead(201, { 'x-own': 'yes' }).end('made');
      });
    });
    upstream.on('upgrade', (request, socket, head) => {
      socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
      socket.write(`${request.url} ${head.toString()}`);
      socket.pipe(socket);
    });
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    proxy = await createFaultProxy({
      listen: { socketPath: join(dir, 'p.sock') },
      upstream: { port: (upstream.address() as AddressInfo).port },
    });
  });
  afterEach(async () => {
    await proxy.close();
    upstream.closeAllConnections();
    await new Promise((resolve) => upstream.close(resolve));
    rmSync(dir, { recursive: true });
  });

  const ask = (method: string, path: string, body?: string, timeoutMs = 20_000): Promise<string> =>
    httpRequest({
      method,
      url: `http://x${path}`,
      socketPath: join(dir, 'p.sock'),
      timeoutMs,
      ...(body === undefined ? {} : { body }),
    }).then(
      (reply) => `${reply.status} ${reply.body.toString()}`,
      (error: unknown) => `lost: ${error instanceof Error ? error.message : ''}`,
    );

  test('passes everything and numbers what changes something', async () => {
    expect(await ask('GET', '/containers/json')).toBe('201 made');
    expect(await ask('POST', '/containers/create', 'body')).toBe('201 made');
    expect(await ask('POST', '/v1.41/containers/a/wait?condition=removed')).toBe('201 made');
    expect(await ask('DELETE', '/containers/a')).toBe('201 made');
    expect(proxy.calls.map(({ change, method }) => [change, method])).toEqual([
      [undefined, 'GET'],
      [1, 'POST'],
      [undefined, 'POST'],
      [2, 'DELETE'],
    ]);
    expect(seen[1]).toBe('POST /containers/create body');
  });

  const cases: readonly (readonly [string, Fault, string, string[]])[] = [
    ['reset before', { kind: 'reset', when: 'before' }, 'lost: socket hang up', []],
    ['reset during', { kind: 'reset', when: 'during' }, 'lost: socket hang up', ['POST /b body']],
    ['reset after', { kind: 'reset', when: 'after' }, 'lost: socket hang up', ['POST /b body']],
    ['hang before', { kind: 'hang', when: 'before' }, 'lost: no reply in time from http://x/b', []],
    ['hang after', { kind: 'hang', when: 'after' }, 'lost: no reply in time from http://x/b', ['POST /b body']],
    ['answer before', { kind: 'answer', when: 'before', status: 500, body: 'no' }, '500 no', []],
    ['answer after', { kind: 'answer', when: 'after', status: 409, body: 'no' }, '409 no', ['POST /b body']],
    ['delay before', { kind: 'delay', when: 'before', ms: 5 }, '201 made', ['POST /b body']],
    ['delay after', { kind: 'delay', when: 'after', ms: 5 }, '201 made', ['POST /b body']],
    ['duplicate', { kind: 'duplicate' }, '201 made', ['POST /b body', 'POST /b body']],
    ['cut', { kind: 'cut', bytes: 2 }, 'lost: aborted', ['POST /b body']],
  ];
  test.each(cases)('%s strikes the chosen change only', async (_name, fault, outcome, reached) => {
    proxy.arm({ at: 2, fault });
    expect(await ask('POST', '/a')).toBe('201 made');
    expect(await ask('POST', '/b', 'body', fault.kind === 'hang' ? 1000 : undefined)).toBe(outcome);
    expect(await ask('POST', '/c')).toBe('201 made');
    expect(seen.filter((line) => line.includes('/b'))).toEqual(reached);
    expect(proxy.calls.map((call) => call.fault)).toEqual([undefined, fault.kind, undefined]);
  });

  test('tells which change came before the last one was answered', async () => {
    await ask('POST', '/first');
    const silent = proxy.arrival(({ path }) => path === '/silent');
    const left = ask('POST', '/silent', undefined, 500);
    await silent;
    await ask('GET', '/read');
    await ask('POST', '/second');
    await left;
    expect(proxy.calls.map(({ path, overlaps }) => [path, overlaps])).toEqual([
      ['/first', false],
      ['/silent', false],
      ['/read', false],
      ['/second', true],
    ]);
  });

  test('kills during the call, before the upstream has answered', async () => {
    let isKilled = false;
    proxy.arm({
      at: ({ path }) => path === '/silent',
      fault: { kind: 'kill', when: 'during', kill: () => (isKilled = true) },
    });
    expect(await ask('POST', '/silent')).toBe('lost: socket hang up');
    expect(isKilled).toBe(true);
    await expect.poll(() => seen.length).toBe(1);
  });

  test('kills after the upstream has answered, before the client hears of it', async () => {
    let killed = 0;
    proxy.arm({ fault: { kind: 'kill', when: 'after', kill: () => (killed += 1) } });
    expect(await ask('POST', '/a')).toBe('lost: socket hang up');
    expect([killed, seen]).toEqual([1, ['POST /a']]);
  });

  test('passes a stream as it comes, and its end by the client', async () => {
    const request = http.get({ socketPath: join(dir, 'p.sock'), path: '/stream' });
    const reply = await new Promise<http.IncomingMessage>((resolve) => request.on('response', resolve));
    const first = await new Promise((resolve) => reply.once('data', resolve));
    expect(String(first)).toBe('one');
    const closed = new Promise((resolve) => answers[0]?.on('close', resolve));
    reply.on('error', () => {});
    request.destroy();
    await closed;
  });

  test('passes an upgraded connection both ways', async () => {
    const socket = connect(join(dir, 'p.sock'));
    const received: string[] = [];
    const echoed = new Promise<void>((resolve) => {
      socket.on('data', (chunk) => {
        received.push(chunk.toString());
        if (received.join('').endsWith('hello')) resolve();
      });
    });
    socket.write(
      'POST /exec/1/start HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 2\r\n\r\n{}',
    );
    await proxy.arrival(({ path }) => path === '/exec/1/start');
    socket.write('hello');
    await echoed;
    expect(received.join('')).toMatch(/^HTTP\/1.1 101 UPGRADED\r\n(?:.*\r\n)*\r\n\/exec\/1\/start (?:\{\})?/);
    socket.destroy();
  });
});
