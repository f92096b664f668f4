import type { EngineEvent } from '../../domain/outside/outside.ts';

/** What has to be read again, because something happened to it or may have. */
export type Changes = {
  readonly hear: (event: EngineEvent) => void;
  readonly addAll: () => void;
  /** Containers to look at a second time. */
  readonly addAgain: (ids: Iterable<string>) => void;
  /** Resolves as soon as there is something to read, or the signal aborts. */
  readonly some: (signal: AbortSignal) => Promise<void>;
  /** Hands over what has gathered, and begins anew. */
  readonly take: () => Reading;
};

export type Reading = {
  /** Everything; what else is named is part of it. */
  readonly all: boolean;
  readonly images: boolean;
  /** Ids. */
  readonly containers: ReadonlySet<string>;
  /** Those of them that something has just happened to. */
  readonly fresh: ReadonlySet<string>;
};

/** Gathers what the engine's events are about: hints of what to read, never what is believed. */
export function createChanges(): Changes {
  let reading = nothing();
  let wake = () => {};

  return {
    hear(event) {
      if (event.kind === 'connected') reading.all = true;
      else if (event.kind === 'image') reading.images = true;
      else if (event.kind === 'container' && !silent.test(event.action)) {
        reading.containers.add(event.id);
        reading.fresh.add(event.id);
      } else return;
      wake();
    },
    addAll() {
      reading.all = true;
      wake();
    },
    addAgain(ids) {
      for (const id of ids) reading.containers.add(id);
      wake();
    },
    some(signal) {
      if (!isEmpty(reading) || signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        wake = () => {
          signal.removeEventListener('abort', wake);
          wake = () => {};
          resolve();
        };
        signal.addEventListener('abort', wake, { once: true });
      });
    },
    take() {
      const taken = { ...reading, all: reading.all || reading.containers.size > mostOneByOne };
      reading = nothing();
      return taken;
    },
  };
}

/** Beyond, their ids make a longer request than engines like, and one whole list is cheaper. */
const mostOneByOne = 100;

/** Words for what no list shows, some of them many a second: https://docs.docker.com/reference/cli/docker/system/events/ */
const silent = /^(?:exec|attach|detach|top|resize|copy|archive-path|extract-to-dir|export|commit|kill|mount|unmount)/;

type Gathered = { all: boolean; images: boolean; readonly containers: Set<string>; readonly fresh: Set<string> };

function nothing(): Gathered {
  return { all: false, images: false, containers: new Set(), fresh: new Set() };
}

function isEmpty({ all, images, containers }: Gathered): boolean {
  return !all && !images && containers.size === 0;
}
