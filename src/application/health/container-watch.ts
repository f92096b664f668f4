import type { Outside } from '../../domain/outside/outside.ts';

/** Follows one container in the engine's event stream. Events are hints; inspections give the facts. */
export type ContainerWatch = {
  /**
   * Resolves after `ms`, or earlier: at an event, when the stream opens or breaks, or when the signal aborts.
   * `happened`: an event of this container arrived.
   */
  readonly wait: (ms: number) => Promise<'nothing' | 'stream changed' | 'happened'>;
  /** False while the stream is down. Only inspections give facts then. */
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
  let heard: Awaited<ReturnType<ContainerWatch['wait']>> = 'nothing';
  let wake = () => {};

  function hear(what: typeof heard): void {
    if (heard !== 'happened') heard = what;
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
      if (heard === 'nothing') {
        const woken = new AbortController();
        wake = () => woken.abort();
        const ends = signal === undefined ? woken.signal : AbortSignal.any([woken.signal, signal]);
        await clock.sleep(ms, ends).catch(() => undefined);
        wake = () => {};
      }
      const latest = heard;
      heard = 'nothing';
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
