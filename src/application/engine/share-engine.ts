import type { EngineEvent, EngineInfo, EngineReader } from '../../domain/outside/engine.ts';
import type { Container, Image, Network } from '../../domain/container/container.ts';
import { digestsOf } from '../../domain/container/lookup.ts';
import type { Digest } from '../../domain/image/image-reference.ts';
import type { Clock, EnginePicture } from '../../domain/outside/outside.ts';
import { putNewest } from '../../domain/text/plain-data.ts';
import { waitAtMost } from '../async/concurrency.ts';

/**
 * The same engine, but `info` is requested once in ten seconds. A run needs it several times, and a Docker engine
 * counts all containers and images for each answer. Our monotonic clock advances the engine's clock in between.
 */
export function shareInfo<Each extends Pick<EngineReader, 'info'>>(
  engine: Each,
  { monotonicMs }: Pick<Clock, 'monotonicMs'>,
): Each {
  let last: { readonly info: EngineInfo; readonly askedAtMs: number } | undefined;

  async function info(signal?: AbortSignal): Promise<EngineInfo> {
    signal?.throwIfAborted();
    const nowMs = monotonicMs();
    if (last !== undefined && nowMs - last.askedAtMs < sharedForMs)
      return { ...last.info, nowMs: last.info.nowMs + (nowMs - last.askedAtMs) };
    const answer = await engine.info(signal);
    last = { info: answer, askedAtMs: nowMs };
    return answer;
  }

  return { ...engine, info };
}

/** Longer than the steps of one update, shorter than a restart of the engine with other settings. */
const sharedForMs = 10_000;

/**
 * The same engine, whose answers to a run's questions stay of use for its next ones: what an image contains, which
 * networks there are, and whether the engine can have an image already.
 */
export function createPicture<Each extends Pick<EngineReader, PicturedCalls>>(
  engine: Each,
  { monotonicMs }: Pick<Clock, 'monotonicMs'>,
): { readonly engine: Each; readonly picture: EnginePicture } {
  const images = new Map<string, Image>();
  const containers = new Map<string, { readonly container: Container; readonly atMs: number }>();
  let digests: { readonly known: Set<Digest>; readonly untilMs: number } | undefined;
  let networks: { readonly listed: readonly Network[]; readonly untilMs: number } | undefined;

  function noteImage(image: Image): Image {
    if (!image.isConfigUnknown) putNewest(images, image.id, image, maxImages);
    for (const digest of digestsOf(image)) digests?.known.add(digest);
    return image;
  }

  const picture: EnginePicture = {
    image: (id) => images.get(id),
    mayHave: (digest) => digests === undefined || monotonicMs() >= digests.untilMs || digests.known.has(digest),
    containerSince(id, sinceMs) {
      const last = containers.get(id);
      return last !== undefined && last.atMs >= sinceMs ? last.container : undefined;
    },
    networks: () => (networks !== undefined && monotonicMs() < networks.untilMs ? networks.listed : undefined),
  };
  const noting: Pick<EngineReader, PicturedCalls> = {
    async inspectImage(idOrReference, signal) {
      const image = await engine.inspectImage(idOrReference, signal);
      return image && noteImage(image);
    },
    async listImages(signal) {
      const untilMs = monotonicMs() + digestsForMs;
      const listed = await engine.listImages(signal);
      digests = { known: new Set(listed.flatMap(digestsOf)), untilMs };
      return listed;
    },
    async inspectContainer(idOrName, signal) {
      const atMs = monotonicMs();
      const container = await engine.inspectContainer(idOrName, signal);
      if (container !== undefined) putNewest(containers, container.id, { container, atMs }, maxContainers);
      return container;
    },
    async listNetworks(signal) {
      const untilMs = monotonicMs() + sharedForMs;
      const listed = await engine.listNetworks(signal);
      networks = { listed, untilMs };
      return listed;
    },
  };
  return { engine: { ...engine, ...noting }, picture };
}

type PicturedCalls = 'inspectImage' | 'listImages' | 'inspectContainer' | 'listNetworks';

/** An image is some kB, and only those of stale containers are inspected. */
const maxImages = 200;

/** The plan keeps them too. */
const maxContainers = 500;

/** A pull of an image that someone has pulled meanwhile downloads no layer. */
const digestsForMs = 60_000;

/**
 * The same engine with one event stream for all listeners. The stream is opened for the first listener and closed after
 * the last. A later listener also begins with `connected`, as soon as the stream is open.
 */
export function shareEvents<Each extends Pick<EngineReader, 'events'>>(engine: Each): Each {
  const listeners = new Set<Listener>();
  let stream: Stream | undefined;

  function open(): Stream {
    const opened: Stream = { closing: new AbortController(), isConnected: false };
    void pump(opened).then(
      () => finish(opened, { error: undefined }),
      (error: unknown) => finish(opened, { error: error instanceof Error ? error : new Error(String(error)) }),
    );
    return opened;
  }

  async function pump(opened: Stream): Promise<void> {
    const noteBreak = (failure?: unknown) => {
      opened.isConnected = false;
      if (stream === opened) for (const { onBreak } of listeners) onBreak(failure);
    };
    for await (const event of engine.events(opened.closing.signal, noteBreak)) {
      if (stream !== opened) return;
      if (event.kind === 'connected') opened.isConnected = true;
      for (const { push } of listeners) push(event);
    }
  }

  function finish(ended: Stream, how: End): void {
    if (stream !== ended) return;
    stream = undefined;
    for (const { end } of listeners) end(how);
  }

  function leave(listener: Listener): void {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    stream?.closing.abort();
    stream = undefined;
  }

  async function* events(
    signal: AbortSignal,
    onBreak: OnBreak = () => {},
  ): AsyncGenerator<EngineEvent, void, undefined> {
    const { listener, next } = createListener(onBreak);
    const wake = () => listener.end({ error: undefined });
    signal.addEventListener('abort', wake, { once: true });
    if (stream?.isConnected) listener.push({ kind: 'connected' });
    listeners.add(listener);
    stream ??= open();
    try {
      for (let event = await next(); event !== undefined && !signal.aborted; event = await next()) yield event;
    } finally {
      signal.removeEventListener('abort', wake);
      leave(listener);
    }
  }

  return { ...engine, events };
}

type Stream = { readonly closing: AbortController; isConnected: boolean };

type End = { readonly error: Error | undefined };

type Listener = {
  readonly push: (event: EngineEvent) => void;
  readonly end: (how: End) => void;
  readonly onBreak: OnBreak;
};

type OnBreak = (failure?: unknown) => void;

/** `next` resolves to undefined at the end of the stream, and rejects with its error. */
function createListener(onBreak: OnBreak): {
  readonly listener: Listener;
  readonly next: () => Promise<EngineEvent | undefined>;
} {
  let queue: EngineEvent[] = [];
  let ended: End | undefined;
  let wake = () => {};
  return {
    listener: {
      onBreak,
      push(event) {
        if (queue.length >= maxQueue) queue = [{ kind: 'connected' }];
        queue.push(event);
        wake();
      },
      end(how) {
        ended ??= how;
        wake();
      },
    },
    async next() {
      if (queue.length === 0 && ended === undefined) await new Promise<void>((resolve) => (wake = resolve));
      const event = queue.shift();
      if (event === undefined && ended?.error !== undefined) throw ended.error;
      return event;
    },
  };
}

/** A slower listener loses its queue and gets `connected` instead, as after a reconnect. */
const maxQueue = 10_000;

type AskedEngine = {
  readonly engine: Pick<EngineReader, 'info'>;
  /** True for a known unreachable engine, which is not asked. */
  readonly isAway: () => boolean;
};

/** Joins a list of the info of all engines. Throws only the signal's reason. */
type EngineAnswers = (
  read: (info: EngineInfo) => readonly string[],
  signal?: AbortSignal,
) => Promise<readonly string[]>;

/**
 * An engine that does not answer must not block the registries of the others: its last answer counts, and it is asked
 * again meanwhile. Only the first answer of an engine is awaited, for 5 s at most.
 */
export function createEngineAnswers(engines: readonly AskedEngine[], clock: Pick<Clock, 'sleep'>): EngineAnswers {
  const answers = new Map<AskedEngine, EngineInfo>();
  const underWay = new Map<AskedEngine, Promise<void>>();

  async function ask(one: AskedEngine): Promise<void> {
    try {
      answers.set(one, await one.engine.info());
    } catch {
      // The engine's own run reports the reason.
    } finally {
      underWay.delete(one);
    }
  }

  function asking(one: AskedEngine): Promise<void> {
    const known = underWay.get(one);
    if (known !== undefined) return known;
    const asked = ask(one);
    underWay.set(one, asked);
    return asked;
  }

  return async (read, signal) => {
    const asked = engines.filter(({ isAway }) => !isAway());
    const awaited = asked.flatMap((one) => {
      const answer = asking(one);
      return answers.has(one) ? [] : [answer];
    });
    await waitAtMost(answerTimeoutMs, Promise.all(awaited), clock, signal);
    signal?.throwIfAborted();
    return [...new Set([...answers.values()].flatMap(read))];
  };
}

const answerTimeoutMs = 5000;
