import { emptyListing, type EngineListing, isOrderInDoubt } from '../../domain/inventory/engine-listing.ts';
import { describeError, type ServiceError } from '../../domain/errors.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { createChanges } from './engine-changes.ts';
import { createListingReader } from './listing-reader.ts';
import { createTrust } from './listing-trust.ts';
import { createSecondLooks } from './second-looks.ts';
import { orStopped } from '../async/stopped.ts';

/** Of one engine among several. */
export type FollowOptions = {
  /** Hears the result of every reading: undefined after one that succeeded. */
  readonly onAnswer?: (failure: unknown) => void;
  /** Between two attempts to list an engine that is away. */
  readonly longestRetryMs?: number;
};

/** Copy of the engine's lists in memory. */
export type EngineMirror = {
  /** Begins to follow the engine; resolves once it has been listed. To follow twice is to follow once. */
  readonly follow: (signal?: AbortSignal) => Promise<void>;
  /** Undefined until the engine has been listed; the same object as long as nothing has changed. */
  readonly listing: () => EngineListing | undefined;
  /** The product's version, e.g. `27.3.1`, read at each connection; undefined until the engine has told it. */
  readonly engineVersion: () => string | undefined;
  /** Why the listing may be untrue: the engine tells of no changes any more, and cannot be listed; undefined when it is believed. */
  readonly failure: () => ServiceError | undefined;
  readonly close: () => Promise<void>;
};

/**
 * Reads everything at the start, after every reconnect of the event stream and at a slow interval; in
 * between it reads the objects that events name. It waits a moment before each reading, so that a burst is
 * read once. It reads the named objects a second time later, because some engines announce a change before
 * their lists show it.
 */
export function createEngineMirror(
  outside: Pick<ReadOnlyOutside, 'engine' | 'swarm' | 'clock' | 'log'>,
  { onAnswer = () => {}, longestRetryMs = 5000 }: FollowOptions = {},
): EngineMirror {
  const { engine, clock, log } = outside;
  const closing = new AbortController();
  const { signal } = closing;
  const changes = createChanges();
  const trust = createTrust(clock, changes.addAll);
  const reader = createListingReader(outside);
  let listing: EngineListing | undefined;
  let engineVersion: string | undefined;
  let following: Promise<unknown> | undefined;
  let finding: Promise<void> | undefined;
  let firstListed = () => {};
  const listed = new Promise<void>((resolve) => (firstListed = resolve));

  const pause = (ms: number) => clock.sleep(ms, signal).catch(() => undefined);
  let connected = new AbortController();
  const pauseUntilConnected = (ms: number) => {
    connected = new AbortController();
    return clock.sleep(ms, AbortSignal.any([signal, connected.signal])).catch(() => undefined);
  };
  const secondLooks = createSecondLooks(
    () => pause(secondLookMs),
    () => signal.aborted,
  );

  async function listen(): Promise<void> {
    for await (const event of engine.events(signal, trust.noteBreak)) {
      if (event.kind === 'connected') {
        trust.noteConnected();
        connected.abort();
        void readVersion();
      }
      changes.hear(event);
    }
  }

  /** An engine may come back as a newer one. What it keeps to itself stays unknown. */
  async function readVersion(): Promise<void> {
    engineVersion = await engine.info(signal).then(
      ({ version }) => version,
      () => engineVersion,
    );
  }

  async function resync(): Promise<void> {
    while (!signal.aborted) {
      changes.addAll();
      await pause(resyncMs);
    }
  }

  async function keepReading(): Promise<void> {
    let failures = 0;
    let tookMs = 0;
    let endedMs = -Infinity;
    for (;;) {
      await changes.some(signal);
      // Readings fill no more than half of the time, however much happens and however long they take.
      await pause(Math.max(gatherMs, endedMs + tookMs - clock.monotonicMs()));
      if (signal.aborted) return;
      const beganMs = clock.monotonicMs();
      try {
        await readOnce();
        trust.noteRead();
        onAnswer(undefined);
        if (failures > 0) log.info('The engine can be listed again');
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        trust.noteFailure(error);
        onAnswer(error);
        if (failures === 0) log.warn('The engine cannot be listed', { error: describeError(error) });
        changes.addAll();
        await pauseUntilConnected(Math.min(firstRetryMs * 2 ** failures, longestRetryMs));
        failures += 1;
      }
      endedMs = clock.monotonicMs();
      tookMs = endedMs - beganMs;
    }
  }

  async function readOnce(): Promise<void> {
    const reading = changes.take();
    const read = await reader.read(reading, listing ?? emptyListing, signal);
    if (!reading.all && isOrderInDoubt(listing ?? emptyListing, read)) secondLooks.add(changes.addAll);
    else if (reading.fresh.size > 0) secondLooks.add(() => changes.addAgain(reading.fresh));
    if (listing === undefined) await reader.findReferences(read, signal);
    listing = reader.refer(read);
    // An engine does not answer about a container that it is busy with: nothing else waits for that.
    finding ??= reader.findReferences(listing, signal).finally(() => {
      finding = undefined;
      listing &&= reader.refer(listing);
    });
    firstListed();
  }

  return {
    follow: async (waiting) => {
      following ??= Promise.all([listen(), resync(), keepReading()]).catch((error: unknown) => {
        if (!signal.aborted) log.error('The engine is no longer followed', { error: describeError(error) });
      });
      await orStopped(listed, 'list containers', waiting);
    },
    listing: () => listing,
    engineVersion: () => engineVersion,
    failure: trust.failure,
    close: async () => {
      closing.abort();
      await following;
    },
  };
}

/** Delay that joins a burst into one reading, well within the 100 ms in which a change must show. */
const gatherMs = 20;

/** Docker 20.10 announces the end of a process before its list shows it. */
const secondLookMs = 250;

/** Interval of full readings, for changes without an event and for lost events. */
const resyncMs = 60_000;

const firstRetryMs = 250;
