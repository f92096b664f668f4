import { addressOf, type DatedReply, fetchReply, type ReadShared } from './client.ts';
import { followEvents, maxSilenceMs, type StreamEnd, type StreamListener, type StreamRequest } from './stream.ts';

/** Reads from the API, once for all that ask for the same. */
export type SharedReader = {
  readonly get: ReadShared;
  /** Follows the events until they end or the signal is aborted. A tab that joins a stream late is told to read again. */
  readonly follow: (request: StreamRequest, signal: AbortSignal, listener: StreamListener) => Promise<StreamEnd>;
  /** Drops all replies: someone has signed in or out. */
  readonly forget: () => void;
};

/**
 * The reader of all tabs, in a worker that they share: one poll and one stream for any number of them. A browser opens
 * six connections to a host over HTTP/1.1, and an open stream takes one. Where there is no such worker (Chrome on
 * Android), or it does not answer, each tab reads for itself.
 */
export function openSharedReader(): SharedReader {
  const own = inPage(createReader());
  const worker = openWorker();
  if (worker === undefined) return own;
  const { port } = worker;
  const waiting = new Map<number, (answer: Answer) => void>();
  let lastId = 0;
  let isBroken = false;
  const send = (message: Message): void => port.postMessage(message);
  worker.addEventListener('error', fail);
  port.addEventListener('message', ({ data }: MessageEvent<Answer>) => waiting.get(data.id)?.(data));
  port.start();
  // A page that the browser keeps for its Back button must not hold a stream open.
  addEventListener('pagehide', () => send({ kind: 'bye' }));
  addEventListener('pageshow', ({ persisted }) => persisted && answerAll({ kind: 'end', end: 'ended' }));

  return {
    get: (request, signal) => (isBroken ? own.get(request, signal) : untilAborted(signal, getShared(request), away)),
    follow: (request, signal, listener) => {
      if (isBroken) return own.follow(request, signal, listener);
      return untilAborted(signal, followShared(request, signal, listener), 'ended');
    },
    forget: () => {
      own.forget();
      send({ kind: 'forget' });
    },
  };

  function getShared(request: Parameters<ReadShared>[0]): Promise<DatedReply> {
    return new Promise((resolve) => {
      const timer = setTimeout(fail, maxAnswerMs);
      const id = wait((answer) => {
        clearTimeout(timer);
        waiting.delete(id);
        resolve(answer.kind === 'reply' ? answer.dated : own.get(request));
      });
      send({ kind: 'get', id, ...request, path: addressOf(request.path) });
    });
  }

  function followShared(request: StreamRequest, signal: AbortSignal, listener: StreamListener): Promise<StreamEnd> {
    return new Promise((resolve) => {
      let timer = setTimeout(fail, 2 * maxSilenceMs);
      const id = wait((answer) => {
        clearTimeout(timer);
        switch (answer.kind) {
          case 'end':
            waiting.delete(id);
            return resolve(answer.end);
          case 'broken':
            waiting.delete(id);
            return resolve(own.follow(request, signal, listener));
          case 'open':
            listener.onOpen();
            break;
          case 'event':
            listener.onEvent(answer.text, answer.eventId);
            break;
          case 'reply':
          case 'sign':
        }
        timer = setTimeout(fail, 2 * maxSilenceMs);
      });
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        if (waiting.delete(id)) send({ kind: 'stop', id });
      });
      send({ kind: 'follow', id, request, url: addressOf(eventsPath) });
    });
  }

  function wait(hear: (answer: Answer) => void): number {
    lastId += 1;
    waiting.set(lastId, hear);
    return lastId;
  }

  /** Every tab reads for itself from now on. */
  function fail(): void {
    isBroken = true;
    answerAll({ kind: 'broken' });
  }

  function answerAll(answer: { readonly kind: 'broken' } | { readonly kind: 'end'; readonly end: StreamEnd }): void {
    for (const [id, hear] of waiting) hear({ ...answer, id });
  }
}

/** The same for addresses relative to the page's. */
function inPage({ get, follow, forget }: Reading): SharedReader {
  return {
    get: (request, signal) => get({ ...request, path: addressOf(request.path) }, signal),
    follow: (request, signal, listener) => follow(request, signal, listener, addressOf(eventsPath)),
    forget,
  };
}

/** Longer than a request may take. */
const maxAnswerMs = 40_000;

const away: DatedReply = { reply: { kind: 'unreachable' }, date: null };

const eventsPath = 'v1/events?extra=true';

function untilAborted<Value>(
  signal: AbortSignal | undefined,
  result: Promise<Value>,
  otherwise: Value,
): Promise<Value> {
  if (signal === undefined) return result;
  if (signal.aborted) return Promise.resolve(otherwise);
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve(otherwise);
    signal.addEventListener('abort', stop, { once: true });
    void result.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** Undefined if the browser has no shared workers. The number in the name changes with the messages. */
function openWorker(): SharedWorker | undefined {
  if (typeof SharedWorker === 'undefined') return undefined;
  const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes };
  const policy = trustedTypes?.createPolicy('upkeep', { createScriptURL: (url) => url });
  try {
    return new SharedWorker(policy?.createScriptURL(workerPath) ?? workerPath, { name: 'upkeep-2' });
  } catch {
    return undefined;
  }
}

const workerPath = 'dashboard/worker.js';

/** https://w3c.github.io/trusted-types/dist/spec/; its values stand for strings where the page's policy wants them. */
type TrustedTypes = {
  readonly createPolicy: (
    name: string,
    rules: { readonly createScriptURL: (url: string) => string },
  ) => { readonly createScriptURL: (url: string) => string };
};

type Message =
  | {
      readonly kind: 'get';
      readonly id: number;
      readonly path: string;
      readonly token: string;
      readonly maxAgeMs: number;
    }
  | { readonly kind: 'follow'; readonly id: number; readonly url: string; readonly request: StreamRequest }
  | { readonly kind: 'stop'; readonly id: number }
  | { readonly kind: 'forget' }
  | { readonly kind: 'bye' };

type Answer = { readonly id: number } & (
  | { readonly kind: 'reply'; readonly dated: DatedReply }
  | { readonly kind: 'open' }
  | { readonly kind: 'sign' }
  | { readonly kind: 'event'; readonly text: string; readonly eventId: string }
  | { readonly kind: 'end'; readonly end: StreamEnd }
  | { readonly kind: 'broken' }
);

/** Answers the tabs, each with a port of its own. Runs in the worker. */
export function createTabServer(): (port: MessagePort) => void {
  const reader = createReader();
  return (port) => {
    const follows = new Map<number, AbortController>();
    const answer = (each: Answer): void => port.postMessage(each);
    port.addEventListener('message', ({ data }: MessageEvent<Message>) => {
      switch (data.kind) {
        case 'get':
          return void reader.get(data).then((dated) => answer({ kind: 'reply', id: data.id, dated }));
        case 'follow':
          return void follow(data);
        case 'stop':
          return follows.get(data.id)?.abort();
        case 'forget':
          return reader.forget();
        case 'bye':
          return follows.forEach((over) => over.abort());
      }
    });
    port.start();

    async function follow({ id, url, request }: Extract<Message, { readonly kind: 'follow' }>): Promise<void> {
      const over = new AbortController();
      follows.set(id, over);
      const end = await reader.follow(
        request,
        over.signal,
        {
          onOpen: () => answer({ kind: 'open', id }),
          onEvent: (text, eventId) => answer({ kind: 'event', id, text, eventId }),
          onSign: () => answer({ kind: 'sign', id }),
        },
        url,
      );
      follows.delete(id);
      if (!over.signal.aborted) answer({ kind: 'end', id, end });
    }
  };
}

/** As `SharedReader`, with absolute addresses. */
type Reading = Omit<SharedReader, 'follow'> & {
  readonly follow: (
    request: StreamRequest,
    signal: AbortSignal,
    listener: StreamListener,
    url: string,
  ) => Promise<StreamEnd>;
};

/** One request at a time for each address, and one stream for each token. */
export function createReader(): Reading {
  const replies = new Map<string, { readonly beganMs: number; readonly dated: Promise<DatedReply> }>();
  const streams = new Map<string, Stream>();

  return {
    get({ path, token, maxAgeMs }, signal) {
      const key = `${token} ${path}`;
      const nowMs = performance.now();
      const known = replies.get(key);
      if (known !== undefined && nowMs - known.beganMs <= maxAgeMs)
        return untilAborted(
          signal,
          known.dated.then(({ reply }) => ({ reply, date: null })),
          away,
        );
      const dated = fetchReply(path, token, {});
      replies.delete(key);
      replies.set(key, { beganMs: nowMs, dated });
      const [oldest] = replies.keys();
      if (replies.size > maxReplies && oldest !== undefined) replies.delete(oldest);
      return untilAborted(signal, dated, away);
    },
    follow({ token, since }, signal, listener, url) {
      if (signal.aborted) return Promise.resolve('ended');
      const stream = streams.get(token) ?? begin({ token, since }, url);
      stream.listeners.add(listener);
      if (stream.isOpen) listener.onOpen();
      if (stream.lastId !== since) listener.onEvent(readAgain, '');
      signal.addEventListener('abort', () => {
        stream.listeners.delete(listener);
        if (stream.listeners.size > 0) return;
        if (streams.get(token) === stream) streams.delete(token);
        stream.over.abort();
      });
      return untilAborted(signal, stream.ended, 'ended');
    },
    forget: () => replies.clear(),
  };

  function begin({ token, since }: StreamRequest, url: string): Stream {
    const over = new AbortController();
    const listeners = new Set<StreamListener>();
    const request = { url, token, since, signal: over.signal };
    const ended = followEvents(request, {
      onOpen: () => {
        stream.isOpen = true;
        for (const each of listeners) each.onOpen();
      },
      onEvent: (text, id) => {
        if (id !== '') stream.lastId = id;
        listeners.forEach((each) => each.onEvent(text, id));
      },
      onSign: () => listeners.forEach((each) => each.onSign?.()),
    }).finally(() => streams.get(token) === stream && streams.delete(token));
    const stream: Stream = { over, listeners, ended, isOpen: false, lastId: since };
    streams.set(token, stream);
    return stream;
  }
}

/** The page reads six documents. */
const maxReplies = 50;

type Stream = {
  readonly over: AbortController;
  readonly listeners: Set<StreamListener>;
  readonly ended: Promise<StreamEnd>;
  isOpen: boolean;
  /** Of the last event that its listeners have heard. */
  lastId: string;
};

/** An event after which a page reads everything again. */
const readAgain = JSON.stringify({ type: 'results_changed', data: {} });
