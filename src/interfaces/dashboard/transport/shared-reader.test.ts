import { createServer, type ServerResponse } from 'node:http';
import { EventEmitter, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createReader } from './shared-reader.ts';

test('a tab that joins a stream reads again, unless its reading knows the last event', async () => {
  const opened: { readonly since: unknown; readonly response: ServerResponse }[] = [];
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n');
    opened.push({ since: request.headers['last-event-id'], response });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const over = new AbortController();
  onTestFinished(() => {
    over.abort();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const reader = createReader();
  const join = (since: string) => {
    const heard: string[] = [];
    const [opening, hearing] = [new EventEmitter(), new EventEmitter()];
    const listener = {
      onOpen: () => void opening.emit('done'),
      onEvent: (text: string) => {
        heard.push((JSON.parse(text) as { type: string }).type);
        hearing.emit('done');
      },
    };
    const opened = once(opening, 'done');
    const next = once(hearing, 'done');
    void reader.follow({ token: 't', since }, over.signal, listener, `http://127.0.0.1:${port}/v1/events`);
    return { heard, opened, next };
  };

  const first = join('a-1');
  await first.opened;
  opened[0]?.response.write('id: a-2\nevent: scan_completed\ndata: {"type":"scan_completed"}\n\n');
  await first.next;
  const [late, upToDate] = [join('a-1'), join('a-2')];
  await Promise.all([late.opened, upToDate.opened]);
  expect(opened.map(({ since }) => since)).toEqual(['a-1']);
  expect([first.heard, late.heard, upToDate.heard]).toEqual([['scan_completed'], ['results_changed'], []]);
});
