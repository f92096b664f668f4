import { emptyListing, isOrderInDoubt, type EngineListing, type ListedService } from '../../domain/inventory.ts';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import type { ReadOnlyOutside, Clock } from '../../domain/outside/outside.ts';
import { createListingReader, noStartTimes } from './listing-reader.ts';
import { orStopped, waitAtMost } from '../async/concurrency.ts';
import type { EngineEvent } from '../../domain/outside/engine.ts';

export type FollowOptions = {
  /** Called with the result of every reading; undefined after a success. */
  readonly onAnswer?: (failure: unknown) => void;
  /** The longest pause between two attempts to list an unreachable engine. Pauses are short again after a reconnect. */
  readonly maxRetryMs?: number;
  /**
   * The longest pause while the engine's event stream is unreachable too. The pause ends when the stream can be
   * reached. Absent: pauses do not depend on events.
   */
  readonly goneRetryMs?: number;
  /**
   * From 0 to below 1: the place of the full readings within each minute. Readings of a whole fleet at once would keep
   * all its lists in memory together.
   */
  readonly phase?: number;
  /** Whether the inventory shows start times of containers. They cost one inspection per start. */
  readonly tellsStartTimes?: boolean;
};

/** The readings of the engine's lists, numbered from 1. */
type Readings = {
  /** The last one that has begun. */
  readonly begun: () => number;
  /** The one that made the listing. 0: none. */
  readonly shown: () => number;
  /** Reads everything soon. */
  readonly readAgain: () => void;
};

/** Copy of the engine's lists in memory. */
type EngineCache = {
  readonly readings: Readings;
  /** Reads without delay what has changed during an update. */
  readonly hurry: () => void;
  /**
   * Reads everything again and resolves when the listing shows it: an answer about a run must not be older than a list that
   * is asked for after it. Resolves after a second at the latest, and at once if the engine is not followed.
   */
  readonly catchUp: (signal?: AbortSignal) => Promise<void>;
  /** Follows the engine. Resolves after the first listing. Further calls have no effect. */
  readonly follow: (signal?: AbortSignal) => Promise<void>;
  /** Undefined before the first listing. The same object is returned while nothing has changed. */
  readonly listing: () => EngineListing | undefined;
  /** The product's version, such as `27.3.1`, read at each connection. Undefined until the engine has answered. */
  readonly engineVersion: () => string | undefined;
  /**
   * Why the listing may be outdated: the event stream has broken, and the engine could not be listed since. Undefined
   * when it is up to date.
   */
  readonly failure: () => ServiceError | undefined;
  readonly close: () => Promise<void>;
};

/**
 * Reads everything at the start, after every reconnect of the event stream and once a minute. In between it reads the
 * objects that events name. A short pause before each reading joins a burst of events into one reading. Named objects
 * are read a second time later, because some engines announce a change before their lists show it.
 */
export function createEngineCache(
  outside: Pick<ReadOnlyOutside, 'engine' | 'swarm' | 'clock' | 'log' | 'instance'>,
  { onAnswer = () => {}, maxRetryMs = 5000, goneRetryMs, phase = 0 }: FollowOptions = {},
  startTimes = noStartTimes,
): EngineCache {
  const { engine, clock, log } = outside;
  const closing = new AbortController();
  const { signal } = closing;
  const changes = createChanges();
  const addAll = () => changes.add('all');
  const staleness = createListingStaleness(clock, addAll);
  const reader = createListingReader(outside);
  let listing: EngineListing | undefined;
  let engineVersion: string | undefined;
  let following: Promise<unknown> | undefined;
  let finding: Promise<void> | undefined;
  let hurrying = new AbortController();
  const readings = { begun: 0, shown: 0 };
  /** Called after each reading that is shown. */
  const awaited: (() => void)[] = [];
  let firstListed = () => {};
  const listed = new Promise<void>((resolve) => (firstListed = resolve));

  const pause = (ms: number) => clock.sleep(ms, signal).catch(() => undefined);
  let reached = new AbortController();
  let isGone = false;
  let retries = 0;
  const pauseUntilReached = () => {
    reached = new AbortController();
    const oftenMs = Math.min(firstRetryMs * 2 ** retries, maxRetryMs);
    retries += 1;
    const ms = isGone && goneRetryMs !== undefined ? goneRetryMs : oftenMs;
    return clock.sleep(ms, AbortSignal.any([signal, reached.signal])).catch(() => undefined);
  };
  const readAgain = createDelayedRechecks(
    () => pause(secondReadingMs),
    () => signal.aborted,
  );
  const taskRechecks = createTaskRechecks(
    () => pause(taskRecheckMs),
    () => changes.add('services'),
  );
  const noteImageEvent = createImageThrottle(
    () => pause(imagePauseMs),
    () => changes.add('images'),
  );

  async function listen(): Promise<void> {
    for await (const event of engine.events(signal, noteBreak)) {
      if (event.kind === 'connected') {
        isGone = false;
        retries = 0;
        staleness.noteConnected();
        reached.abort();
        void readVersion();
      }
      if (event.kind === 'service') taskRechecks.noteEvent();
      if (event.kind === 'image') noteImageEvent();
      startTimes.onEvent(event);
      changes.onEvent(event);
    }
  }

  /** A reachable engine may refuse its events, and can still be listed. */
  function noteBreak(failure?: unknown): void {
    const wasGone = isGone;
    isGone = failure instanceof ServiceError && failure.code === 'engine-unreachable';
    staleness.noteBreak();
    if (wasGone && !isGone) reached.abort();
  }

  /** The engine may be a newer version after a reconnect. If it does not answer, the version stays unknown. */
  async function readVersion(): Promise<void> {
    engineVersion = await engine.info(signal).then(
      ({ version }) => version,
      () => engineVersion,
    );
  }

  async function resync(): Promise<void> {
    addAll();
    await pause(resyncMs * (1 - phase));
    while (!signal.aborted) {
      addAll();
      await pause(resyncMs);
    }
  }

  async function keepReading(): Promise<void> {
    let isFailing = false;
    let tookMs = 0;
    let endedMs = -Infinity;
    for (;;) {
      await changes.some(signal);
      // Readings take at most half of the time.
      await gather(Math.max(gatherMs, endedMs + tookMs - clock.monotonicMs()));
      if (signal.aborted) return;
      const beganMs = clock.monotonicMs();
      const failure = await readOnce().catch((error: unknown) => ({ error }));
      if (signal.aborted) return;
      endedMs = clock.monotonicMs();
      tookMs = endedMs - beganMs;
      if (failure === undefined) {
        staleness.noteRead();
        onAnswer(undefined);
        if (isFailing) log.info('The engine can be listed again');
        isFailing = false;
        retries = 0;
        continue;
      }
      staleness.noteFailure(failure.error);
      onAnswer(failure.error);
      if (!isFailing) log.warn('The engine cannot be listed', { error: describeError(failure.error) });
      isFailing = true;
      addAll();
      await pauseUntilReached();
    }
  }

  /** An update of this process shows its own progress, and causes a dozen events in a second. */
  async function gather(ms: number): Promise<void> {
    const isUpdating = () => outside.instance.transactions.size > 0;
    if (!isUpdating()) return void (await pause(ms));
    hurrying = new AbortController();
    const ends = AbortSignal.any([signal, hurrying.signal]);
    await clock.sleep(Math.max(ms, gatherWhileUpdatingMs), ends).catch(() => undefined);
    if (!isUpdating()) await pause(gatherMs);
  }

  async function readOnce(): Promise<void> {
    const reading = changes.take();
    readings.begun += 1;
    const read = await reader.read(reading, listing ?? emptyListing, signal);
    if (!reading.all && isOrderInDoubt(listing ?? emptyListing, read)) readAgain(addAll);
    else if (reading.fresh.size > 0) readAgain(() => changes.addAgain(reading.fresh));
    if (listing === undefined) await reader.findReferences(read, signal);
    listing = reader.refer(read);
    readings.shown = readings.begun;
    for (const resolve of awaited.splice(0)) resolve();
    taskRechecks.noteRead(listing);
    // An engine may not answer about a container that it is changing, so nothing else waits for this.
    finding ??= reader.findReferences(listing, signal).finally(() => {
      finding = undefined;
      listing &&= reader.refer(listing);
    });
    void startTimes.find(listing.containers, signal);
    firstListed();
  }

  async function catchUp(waiting?: AbortSignal): Promise<void> {
    if (following === undefined || waiting?.aborted) return;
    const wanted = readings.begun + 1;
    addAll();
    hurrying.abort();
    const untilShown = async () => {
      while (readings.shown < wanted && !signal.aborted)
        await new Promise<void>((resolve) => void awaited.push(resolve));
    };
    await waitAtMost(catchUpMs, untilShown(), clock, waiting);
  }

  return {
    hurry: () => hurrying.abort(),
    catchUp,
    readings: { begun: () => readings.begun, shown: () => readings.shown, readAgain: addAll },
    follow: async (waiting) => {
      following ??= Promise.all([listen(), resync(), keepReading()]).catch((error: unknown) => {
        if (!signal.aborted) log.error('The engine is no longer followed', { error: describeError(error) });
      });
      await orStopped(listed, 'list containers', waiting);
    },
    listing: () => listing,
    engineVersion: () => engineVersion,
    failure: staleness.failure,
    close: async () => {
      closing.abort();
      await following;
    },
  };
}

/** Joins a burst of events into one reading. A change must be visible within 100 ms. */
const gatherMs = 20;

const gatherWhileUpdatingMs = 3000;

/** An engine with hundreds of containers lists them in a tenth of this. */
const catchUpMs = 1000;

/** Docker 20.10 announces an exit before its list shows it. */
const secondReadingMs = 250;

/** Each update causes five events of images. Docker 20.10 lists a hundred images in 10 to 50 ms. */
const imagePauseMs = 1000;

/** Tasks take about this long to start. */
const taskRecheckMs = 2000;

/** Interval of full readings, for changes without an event and for lost events. */
const resyncMs = 60_000;

const firstRetryMs = 250;

/** Whether the listing in memory may be shown. It is only as current as the event stream that it follows. */
type ListingStaleness = {
  readonly noteConnected: () => void;
  readonly noteBreak: () => void;
  readonly noteRead: () => void;
  readonly noteFailure: (error: unknown) => void;
  /** Undefined while the listing may be shown. */
  readonly failure: () => ServiceError | undefined;
};

/** A broken stream is harmless while the engine can be listed. `readAll` is called to find out. */
export function createListingStaleness(
  { monotonicMs }: Pick<Clock, 'monotonicMs'>,
  readAll: () => void,
): ListingStaleness {
  let isConnected = false;
  /** The stream has broken since the last reading, so that events may have been lost. */
  let isBehind = false;
  let failed: ServiceError | undefined;
  let inDoubtSinceMs: number | undefined;

  return {
    noteConnected() {
      isConnected = true;
    },
    noteBreak() {
      isConnected = false;
      isBehind = true;
      inDoubtSinceMs ??= monotonicMs();
      readAll();
    },
    noteRead() {
      isBehind = false;
      failed = undefined;
      inDoubtSinceMs = undefined;
    },
    noteFailure(error) {
      failed = error instanceof ServiceError ? error : unreachable(error);
    },
    failure() {
      // Events of objects that may not be listed show nothing.
      if (isConnected && !isBehind && failed?.code !== 'engine-denied') return undefined;
      const isLate = inDoubtSinceMs !== undefined && monotonicMs() - inDoubtSinceMs > maxDoubtMs;
      return failed ?? (isLate ? engineSilent() : undefined);
    },
  };
}

/** A listing takes less than a second. A stream that is reopened within this time causes no failure. */
const maxDoubtMs = 2000;

function unreachable(cause: unknown): ServiceError {
  return new ServiceError('engine-unreachable', 'Cannot list containers: the engine cannot be reached', { cause });
}

function engineSilent(): ServiceError {
  return new ServiceError('timeout', 'Cannot list containers: the engine does not answer');
}

/**
 * Repeats readings some time after the first one. One timer serves all calls, so a `read` follows one to two pauses
 * after its call. At the end of the process `pause` resolves early, and `isOver` is true.
 */
function createDelayedRechecks(pause: () => Promise<void>, isOver: () => boolean): (read: () => void) => void {
  let due: (() => void)[] = [];
  let fresh: (() => void)[] = [];
  let isWaiting = false;

  async function serve(): Promise<void> {
    isWaiting = true;
    while (due.length + fresh.length > 0 && !isOver()) {
      await pause();
      for (const read of due) read();
      [due, fresh] = [fresh, []];
    }
    isWaiting = false;
  }

  return (read) => {
    fresh.push(read);
    if (!isWaiting) void serve();
  };
}

/**
 * Joins the image events of an update into few readings: an engine with many images takes long to list them. The
 * returned function is called for each event. The first event leads to a `read` at once. Events during the `pause`
 * after it lead to one reading at its end.
 */
function createImageThrottle(pause: () => Promise<void>, read: () => void): () => void {
  let isPausing = false;
  let isWanted = false;

  async function readAndPause(): Promise<void> {
    isPausing = true;
    do {
      isWanted = false;
      read();
      await pause();
    } while (isWanted);
    isPausing = false;
  }

  return () => {
    isWanted = true;
    if (!isPausing) void readAndPause();
  };
}

/** Reads services again while they have too few tasks: a swarm announces its services but not their tasks. */
type TaskRechecks = {
  /** Called for each event of a service. */
  readonly noteEvent: () => void;
  readonly noteRead: (listing: EngineListing) => void;
};

/** `read` follows `pause`, a bounded number of times after each event. */
function createTaskRechecks(pause: () => Promise<void>, read: () => void): TaskRechecks {
  let remaining = 0;
  let isWaiting = false;
  return {
    noteEvent: () => void (remaining = maxReads),
    noteRead({ services = [] }) {
      if (isWaiting || remaining === 0 || !services.some(isShort)) return;
      remaining -= 1;
      isWaiting = true;
      void pause().then(() => {
        isWaiting = false;
        read();
      });
    },
  };
}

/** After this many, a service with too few tasks is only read with the full listing. */
const maxReads = 15;

function isShort({ service: { count } }: ListedService): boolean {
  return count !== undefined && count.running < count.wanted;
}

/** Parts of the listing that an event may have changed. They must be read again. */
type Changes = {
  readonly onEvent: (event: EngineEvent) => void;
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
function createChanges(): Changes {
  let reading = nothing();
  let wake = () => {};

  return {
    onEvent(event) {
      if (event.kind === 'connected') reading.all = true;
      else if (event.kind === 'service') reading.services = true;
      else if (event.kind === 'container' && !changesNothing.test(event.action)) {
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
      const taken = { ...reading, all: reading.all || reading.containers.size > maxOneByOne };
      reading = nothing();
      return taken;
    },
  };
}

/** A longer list of ids makes a request longer than engines accept, and one whole list is cheaper. */
const maxOneByOne = 100;

/**
 * Actions that change no list. Some arrive many times a second:
 * https://docs.docker.com/reference/cli/docker/system/events/
 */
const changesNothing =
  /^(?:exec|attach|detach|top|resize|copy|archive-path|extract-to-dir|export|commit|kill|mount|unmount)/;

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
