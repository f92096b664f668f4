import type { EngineEvent } from '../../domain/outside/engine.ts';

/** Parts of the listing that an event may have changed. They must be read again. */
export type Changes = {
  readonly hear: (event: EngineEvent) => void;
  readonly add: (part: 'all' | 'images' | 'services') => void;
  /** Adds containers that are to be read a second time. */
  readonly addAgain: (ids: Iterable<string>) => void;
  /** Resolves when there is something to read, or when the signal aborts. */
  readonly some: (signal: AbortSignal) => Promise<void>;
  /** Returns the gathered changes and starts an empty set. */
  readonly take: () => Reading;
};

export type Reading = {
  /** The whole listing must be read. The other fields name parts of it. */
  readonly all: boolean;
  readonly images: boolean;
  readonly services: boolean;
  /** Container ids. */
  readonly containers: ReadonlySet<string>;
  /** Containers with an event since the last reading. */
  readonly fresh: ReadonlySet<string>;
};

/** Gathers the containers that events name. Events only say what to read; their content is never trusted. */
export function createChanges(): Changes {
  let reading = nothing();
  let wake = () => {};

  return {
    hear(event) {
      if (event.kind === 'connected') reading.all = true;
      else if (event.kind === 'service') reading.services = true;
      else if (event.kind === 'container' && !silent.test(event.action)) {
        reading.containers.add(event.id);
        reading.fresh.add(event.id);
      } else return;
      wake();
    },
    add(part) {
      reading[part] = true;
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

/** A longer list of ids makes a request longer than engines accept, and one whole list is cheaper. */
const mostOneByOne = 100;

/**
 * Actions that change no list. Some arrive many times a second:
 * https://docs.docker.com/reference/cli/docker/system/events/
 */
const silent = /^(?:exec|attach|detach|top|resize|copy|archive-path|extract-to-dir|export|commit|kill|mount|unmount)/;

type Gathered = {
  all: boolean;
  images: boolean;
  services: boolean;
  readonly containers: Set<string>;
  readonly fresh: Set<string>;
};

function nothing(): Gathered {
  return { all: false, images: false, services: false, containers: new Set(), fresh: new Set() };
}

function isEmpty({ all, images, services, containers }: Gathered): boolean {
  return !all && !images && !services && containers.size === 0;
}
