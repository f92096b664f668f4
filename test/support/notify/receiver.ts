import type { IncomingHttpHeaders } from 'node:http';
import { startHttpServer } from '../http/http-server.ts';

/** A notified service on the loopback; the test sets its answers. */
export type Receiver = {
  /** URL of a JSON webhook. */
  readonly url: string;
  readonly port: number;
  /** Requests, accepted or not, in order. */
  readonly asked: readonly ReceivedMessage[];
  /** Accepted messages. */
  readonly taken: () => readonly ReceivedMessage[];
  /** Resolves at the `count`th request. */
  readonly askedTimes: (count: number) => Promise<void>;
  answer: (message: ReceivedMessage) => Answer;
  readonly close: () => Promise<void>;
};

export type ReceivedMessage = {
  readonly title: string;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  isTaken: boolean;
};

/** `hang`: the request is read, and never answered. */
type Answer = number | 'hang';

export async function startReceiver(): Promise<Receiver> {
  const asked: ReceivedMessage[] = [];
  const waiting = new Set<() => void>();
  const server = await startHttpServer(({ body: json, headers }) => {
    const body: Readonly<Record<string, string>> = JSON.parse(json);
    const text = body['message'] ?? body['text'] ?? '';
    const message = { title: body['title'] ?? '', text, headers, isTaken: false };
    asked.push(message);
    const answer = notified.answer(message);
    if (answer !== 'hang') message.isTaken = answer < 300;
    for (const look of waiting) look();
    return answer === 'hang' ? answer : { status: answer };
  });
  const notified: Receiver = {
    url: `generic+${server.url}/hook?template=json`,
    port: server.port,
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
    close: () => server[Symbol.asyncDispose](),
  };
  return notified;
}
