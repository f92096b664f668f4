import type { Outside } from '../../domain/outside/outside.ts';

export type PauseOrder = {
  /** Time until the end of the window; negative after it. */
  readonly leftOfWindowMs: number;
  /** Time until the deadline, which has not passed. */
  readonly leftMs: number;
  /** A probe has just failed and is to be repeated. */
  readonly isProbing: boolean;
  /** Inspections are due at the polling interval, with or without events. */
  readonly isPolled: boolean;
};

export type GatePauses = {
  /** Pauses until the next inspection is due. Ends early, and does not throw, when the signal aborts. */
  readonly next: (order: PauseOrder) => Promise<void>;
  readonly close: () => void;
};

/**
 * The pauses between the inspections of a successor. While the engine's event stream is open, an inspection follows
 * each event, and one more at the end of the window finds an exit that no event announced. While the stream is down, a
 * successor is inspected every 250 ms.
 */
export function createGatePauses(
  outside: Pick<Outside, 'engine' | 'clock'>,
  id: string,
  signal?: AbortSignal,
): GatePauses {
  const { clock } = outside;
  let watch: ContainerWatch | undefined;
  let settledAtMs = -Infinity;

  return {
    async next(order) {
      watch ??= watchContainer(outside, id, signal);
      if (clock.monotonicMs() < settledAtMs) {
        await clock.sleep(Math.min(pollMs, order.leftMs), signal).catch(() => undefined);
      } else if ((await watch.wait(lengthOf(order, watch.isListening()))) === 'happened') {
        settledAtMs = clock.monotonicMs() + settlingMs;
      }
    },
    close: () => watch?.close(),
  };
}

function lengthOf({ leftOfWindowMs, leftMs, isProbing, isPolled }: PauseOrder, isListening: boolean): number {
  if (isProbing) return probePollMs;
  const longestMs = isPolled || !isListening ? pollMs : leftOfWindowMs > 0 ? leftOfWindowMs : lookAgainMs;
  return Math.min(longestMs, leftOfWindowMs > 0 ? leftOfWindowMs : leftMs);
}

/** Short against the start of a container (about 200 ms), long against an inspect call (1 ms). */
const pollMs = 250;

/** Time between the answer to a probe and the next request. */
const probePollMs = 1000;

/** Docker 20.10 announces an exit before an inspection shows it. The container is polled in between. */
const settlingMs = 1000;

/** A lost event must not delay the verdict of a HEALTHCHECK by more than this. */
const lookAgainMs = 2000;

/** Follows one container in the engine's event stream. Events are hints; inspections give the facts. */
type ContainerWatch = {
  /**
   * Resolves after `ms`, or earlier: at an event, when the stream opens or breaks, or when the signal aborts.
   * `happened`: an event of this container arrived.
   */
  readonly wait: (ms: number) => Promise<'nothing' | 'stream changed' | 'happened'>;
  /** False while the stream is down. Only inspections give facts then. */
  readonly isListening: () => boolean;
  readonly close: () => void;
};

function watchContainer(
  { engine, clock }: Pick<Outside, 'engine' | 'clock'>,
  id: string,
  signal?: AbortSignal,
): ContainerWatch {
  const closing = new AbortController();
  let isListening = false;
  let news: Awaited<ReturnType<ContainerWatch['wait']>> = 'nothing';
  let wake = () => {};

  function hear(what: typeof news): void {
    if (news !== 'happened') news = what;
    wake();
  }

  function noteBreak(): void {
    if (!isListening) return;
    isListening = false;
    hear('stream changed');
  }

  async function listen(): Promise<void> {
    try {
      for await (const event of engine.events(closing.signal, noteBreak)) {
        if (event.kind === 'connected') {
          isListening = true;
          hear('stream changed');
        } else if (event.kind === 'container' && event.id === id && stateChanges.test(event.action)) hear('happened');
      }
    } catch {
      // While the stream is down, the polling interval applies.
    }
    noteBreak();
  }

  void listen();
  return {
    async wait(ms) {
      if (news === 'nothing') {
        const woken = new AbortController();
        wake = () => woken.abort();
        const ends = signal === undefined ? woken.signal : AbortSignal.any([woken.signal, signal]);
        await clock.sleep(ms, ends).catch(() => undefined);
        wake = () => {};
      }
      const latest = news;
      news = 'nothing';
      return latest;
    },
    isListening: () => isListening,
    close: () => closing.abort(),
  };
}

/**
 * Changes of the state of a container, in Docker's words and Podman's:
 * https://docs.docker.com/reference/cli/docker/system/events/,
 * https://docs.podman.io/en/latest/markdown/podman-events.1.html
 */
const stateChanges = /^(?:die|oom|health_status|start|stop|restart|pause|unpause|destroy|remove|cleanup)/;
