import type { Outside } from '../../domain/outside/outside.ts';

/** Tells when a container is worth an inspection. */
export type ContainerWatch = {
  /**
   * Resolves after `ms`, and earlier at an event of the container, when the engine's event stream breaks or
   * is back, and when the signal aborts. Without a stream it resolves after a poll interval at most.
   */
  readonly pause: (ms: number) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Resolves once events are heard, or after a second without them. `close` it in any case. */
export async function watchContainer(
  { engine, clock, log }: Pick<Outside, 'engine' | 'clock' | 'log'>,
  id: string,
  signal: AbortSignal | undefined,
): Promise<ContainerWatch> {
  const closing = new AbortController();
  let isLive = false;
  let hasNews = false;
  let looksAgain = false;
  let wake = () => {};
  const notice = () => {
    hasNews = true;
    wake();
  };

  async function listen(): Promise<void> {
    const onBreak = () => {
      isLive = false;
      notice();
    };
    for await (const event of engine.events(closing.signal, onBreak)) {
      if (event.kind === 'connected') isLive = true;
      if (event.kind === 'connected' || event.id === id) notice();
    }
  }

  async function sleep(ms: number): Promise<void> {
    const awake = new AbortController();
    wake = () => awake.abort();
    try {
      if (!hasNews && !signal?.aborted) await clock.sleep(ms, awake.signal);
    } catch (error) {
      if (!awake.signal.aborted) throw error;
    } finally {
      wake = () => {};
    }
  }

  const onAbort = () => wake();
  signal?.addEventListener('abort', onAbort);
  const listening = listen().catch((error: unknown) => {
    isLive = false;
    log.debug('The events of a container cannot be heard', { container: id, error: String(error) });
  });
  await sleep(longestConnectMs);
  hasNews = false;
  return {
    async pause(ms) {
      const isPatient = isLive && !looksAgain;
      looksAgain = false;
      await sleep(isPatient ? ms : Math.min(ms, pollMs));
      // An engine may tell of a change before an inspection shows it.
      looksAgain = hasNews;
      hasNews = false;
    },
    async close() {
      signal?.removeEventListener('abort', onAbort);
      closing.abort();
      await listening;
    },
  };
}

const longestConnectMs = 1000;

/** Short against the start of a container (about 200 ms), long against an inspect call (1 ms). */
const pollMs = 250;
