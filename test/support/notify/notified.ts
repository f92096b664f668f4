import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A notified service on the loopback; the test sets its answers. */
export type Notified = {
  /** Of a JSON webhook. */
  readonly url: string;
  readonly port: number;
  /** Requests, accepted or not, in order. */
  readonly asked: readonly NotifiedMessage[];
  /** Accepted messages. */
  readonly taken: () => readonly NotifiedMessage[];
  /** Resolves at the `count`th request. */
  readonly askedTimes: (count: number) => Promise<void>;
  answer: (message: NotifiedMessage) => Answer;
  readonly close: () => Promise<void>;
};

export type NotifiedMessage = {
  readonly title: string;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  isTaken: boolean;
};

/** `hang`: the request is read, and never answered. */
type Answer = number | 'hang';

export async function startNotified(): Promise<Notified> {
  const asked: NotifiedMessage[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body: Readonly<Record<string, string>> = JSON.parse(Buffer.concat(chunks).toString());
      const text = body['message'] ?? body['text'] ?? '';
      const message = { title: body['title'] ?? '', text, headers: request.headers, isTaken: false };
      asked.push(message);
      const answer = notified.answer(message);
      if (answer !== 'hang') {
        message.isTaken = answer < 300;
        response.writeHead(answer).end();
      }
      for (const look of waiting) look();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const notified: Notified = {
    url: `generic+http://127.0.0.1:${port}/hook?template=json`,
    port,
    asked,
    taken: () => asked.filter(({ isTaken }) => isTaken),
    askedTimes: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (asked.length < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    answer: () => 200,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return notified;
}
