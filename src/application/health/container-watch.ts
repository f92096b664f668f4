import type { Outside } from '../../domain/outside/outside.ts';

/** Hears from the engine's event stream that something has happened to one container. Events hint; inspections tell. */
export type ContainerWatch = {
  /**
   * Resolves after `ms`, or earlier: at news, when the stream begins or breaks, or at the signal's abort. `happened`:
   * the container itself had news.
   */
  readonly wait: (ms: number) => Promise<'nothing' | 'stream changed' | 'happened'>;
  /** False while the stream is away: then nothing but an inspection tells. */
  readonly isListening: () => boolean;
  readonly close: () => void;
};

export function watchContainer(
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
        } else if (event.kind === 'container' && event.id === id && telling.test(event.action)) hear('happened');
      }
    } catch {
      // Without the stream the inspections go on as often as before.
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
      const heard = news;
      news = 'nothing';
      return heard;
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
const telling = /^(?:die|oom|health_status|start|stop|restart|pause|unpause|destroy|remove|cleanup)/;
