import type { Clock, Outside } from '../../domain/outside/outside.ts';
import { repositoryName } from '../../domain/image/image-reference.ts';
import type { Registry, TagList } from '../../domain/outside/registry.ts';
import { orAborted } from '../../domain/concurrency.ts';
import { ServiceError, type ErrorCode } from '../../domain/text/errors.ts';

/**
 * Calls `work` for every item, at most `limit` at once, and returns the results in the order of the items.
 * After a failure no further item begins; the error is thrown once the running calls have ended.
 */
export async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = items.entries();
  let failed = false;
  async function takeFromQueue(): Promise<void> {
    for (const [index, item] of queue) {
      try {
        results[index] = await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
      if (failed) return;
    }
  }
  const workers = Array.from({ length: Math.min(Math.max(1, limit), items.length) }, takeFromQueue);
  const failure = (await Promise.allSettled(workers)).find((worker) => worker.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
  return results;
}

/** An engine answers an inspection in less than a millisecond. More requests at once only queue up there. */
export const inspectionsAtOnce = 16;

type Slices = {
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  /** The time of the work itself, without its pauses. */
  readonly limit?: { readonly maxMs: number; readonly tooLong: () => Error } | undefined;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Runs a long computation that yields, in slices of some milliseconds, so that requests are answered meanwhile. One
 * computation of the process runs at a time; the others wait, and need no memory. Throws the signal's reason, or the
 * error of the limit.
 */
export async function inSlices<Result>(
  work: Iterator<unknown, Result, undefined>,
  { clock, limit, signal }: Slices,
): Promise<Result> {
  return computing.run(async () => {
    let spentMs = 0;
    for (;;) {
      signal?.throwIfAborted();
      const { end, tookMs } = runSlice(work, clock);
      spentMs += tookMs;
      if (limit !== undefined && spentMs > limit.maxMs) throw limit.tooLong();
      // Also after the last slice: many computations may end at once.
      if (tookMs >= shortMs) await clock.sleep(0, signal);
      if (end !== undefined) return end.value;
    }
  });
}

function runSlice<Result>(work: Iterator<unknown, Result, undefined>, { monotonicMs }: Slices['clock']) {
  const beganMs = monotonicMs();
  let tookMs = 0;
  let end: IteratorReturnResult<Result> | undefined;
  while (end === undefined && tookMs < sliceMs) {
    const step = work.next();
    if (step.done === true) end = step;
    tookMs = monotonicMs() - beganMs;
  }
  return { end, tookMs };
}

/** A delay that a client of the HTTP API does not notice. */
const sliceMs = 10;

/** Most computations are over sooner, and need no pause. */
const shortMs = 1;

/** Runs functions, at most `limit` at once; the others wait in order of arrival. */
type Slots = { readonly run: <Result>(work: (slot: Slot) => Promise<Result>) => Promise<Result> };

export type Slot = {
  /**
   * Lends the slot to others for the length of `wait`. The caller resumes without waiting; no new function begins until
   * as many others have ended. At most `pauseLimit` callers are paused at once; another one keeps its slot until one of
   * them resumes.
   */
  readonly pause: <Result>(wait: () => Promise<Result>) => Promise<Result>;
};

export function createSlots(limit: number, pauseLimit = 0): Slots {
  const waiting: (() => void)[] = [];
  /** Callers that wait and have not lent their slots, in the order of their waits. */
  const unlent = new Set<symbol>();
  let free = Math.max(1, limit);
  let paused = 0;

  function release(): void {
    free += 1;
    while (free > 0 && waiting.length > 0) {
      free -= 1;
      waiting.shift()?.();
    }
  }

  function lendKept(): void {
    for (const keeper of unlent) {
      if (paused >= pauseLimit) return;
      unlent.delete(keeper);
      paused += 1;
      release();
    }
  }

  async function pause<Result>(wait: () => Promise<Result>): Promise<Result> {
    const keeper = Symbol('keeper');
    unlent.add(keeper);
    lendKept();
    try {
      return await wait();
    } finally {
      const hasLent = !unlent.delete(keeper);
      if (hasLent) {
        paused -= 1;
        free -= 1;
        lendKept();
      }
    }
  }

  return {
    async run(work) {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await work({ pause });
      } finally {
        release();
      }
    },
  };
}

/** A thing that many use together, or one uses alone. */
export type SharedUse = {
  /** Waits while someone uses it alone. Call the result once, or more often, at the end of the use. */
  readonly share: () => Promise<() => void>;
  /** Waits until nobody else uses it. */
  readonly alone: <Result>(work: () => Promise<Result>) => Promise<Result>;
};

export function createSharedUse(): SharedUse {
  const use = { sharers: 0, isAlone: false };
  let changed = createSignal();

  function change(): void {
    const { give } = changed;
    changed = createSignal();
    give();
  }

  return {
    async share() {
      while (use.isAlone) await changed.given;
      use.sharers += 1;
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        use.sharers -= 1;
        change();
      };
    },
    async alone(work) {
      while (use.isAlone || use.sharers > 0) await changed.given;
      use.isAlone = true;
      try {
        return await work();
      } finally {
        use.isAlone = false;
        change();
      }
    },
  };
}

function createSignal() {
  let give = () => {};
  const given = new Promise<void>((resolve) => (give = resolve));
  return { give, given };
}

/** The event loop is one for the whole process. */
const computing = createSlots(1);

/** Calls once for each key, also while the first call is under way. Failures are kept too. Its caller bounds the keys. */
export function remember<Args extends readonly unknown[], Result>(
  call: (...args: Args) => Promise<Result>,
  keyOf: (...args: Args) => string,
): (...args: Args) => Promise<Result> {
  const answers = new Map<string, Promise<Result>>();
  return (...args) => {
    const key = keyOf(...args);
    const answer = answers.get(key) ?? call(...args);
    answers.set(key, answer);
    return answer;
  };
}

/**
 * Like `remember`, for lists of tags: one call for each repository while its list is among the latest 32 MB. An earlier
 * one is asked for again.
 */
export function rememberLists(listTags: Registry['listTags']): Registry['listTags'] {
  const lists = new Map<string, { readonly answer: Promise<TagList>; bytes: number }>();
  let bytes = 0;
  return (reference, signal) => {
    const key = repositoryName(reference);
    const known = lists.get(key);
    if (known !== undefined) return known.answer;
    const list = { answer: listTags(reference, signal), bytes: 0 };
    lists.set(key, list);
    list.answer.then(
      ({ tags }) => {
        list.bytes = tags.length;
        bytes += list.bytes;
        for (const [earlier, { bytes: freed }] of lists) {
          if (bytes <= maxListsBytes) return;
          if (earlier === key || freed === 0) continue;
          lists.delete(earlier);
          bytes -= freed;
        }
      },
      () => undefined,
    );
    return list.answer;
  };
}

/** Sixteen lists of the greatest size, thousands of usual ones. */
const maxListsBytes = 32 * 1024 * 1024;

/**
 * Returns a function that is true for the first call with each key. After `most` keys all are forgotten, and the next
 * call with each is a first one again.
 */
export function createFirstTimes(most: number): (key: string) => boolean {
  const known = new Set<string>();
  return (key) => {
    if (known.has(key)) return false;
    if (known.size >= most) known.clear();
    known.add(key);
    return true;
  };
}

/** `timeout` if time ran out (`AbortSignal.timeout`, or a `ServiceError` with that code), else `cancelled`. */
export function stopCode(signal: AbortSignal): Extract<ErrorCode, 'timeout' | 'cancelled'> {
  const reason: unknown = signal.reason;
  if (reason instanceof ServiceError) return reason.code === 'timeout' ? 'timeout' : 'cancelled';
  return reason instanceof Error && reason.name === 'TimeoutError' ? 'timeout' : 'cancelled';
}

/** `what` is the failed action as the message words it: `check containers`. */
export function stoppedError(signal: AbortSignal, what: string): ServiceError {
  const code = stopCode(signal);
  const why = code === 'timeout' ? 'it did not end in time' : 'it was cancelled';
  return new ServiceError(code, `Cannot ${what}: ${why}`, { cause: signal.reason });
}

/** Stops waiting when the signal aborts. The work itself continues. */
export function orStopped<Result>(
  work: Promise<Result>,
  what: string,
  signal: AbortSignal | undefined,
): Promise<Result> {
  return orAborted(work, signal, (aborted) => stoppedError(aborted, what));
}

/** Waits until the work ends, the time is over or the signal aborts. It rejects only if the work does. */
export async function waitAtMost(
  ms: number,
  work: Promise<unknown>,
  clock: Pick<Clock, 'sleep'>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const ended = new AbortController();
  const either = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal]);
  const late = clock.sleep(ms, either).catch(() => undefined);
  try {
    await Promise.race([work, late]);
  } finally {
    ended.abort();
  }
}

/** Aborts a few seconds after the process is asked to end, in which short waits end by themselves. */
export function endsSoon({ ending, clock }: Pick<Outside, 'ending' | 'clock'>): {
  readonly signal: AbortSignal;
  readonly stop: () => void;
} {
  const [soon, over] = [new AbortController(), new AbortController()];
  const begin = (signal: AbortSignal) => {
    const nowMs = clock.monotonicMs();
    const lastMs = lastMoments.get(signal) ?? nowMs + lastWaitMs;
    lastMoments.set(signal, lastMs);
    void clock.sleep(Math.max(leastLastWaitMs, lastMs - nowMs), over.signal).then(
      () => soon.abort(),
      () => undefined,
    );
  };
  if (ending?.aborted) begin(ending);
  else ending?.addEventListener('abort', () => begin(ending), { signal: over.signal });
  return { signal: soon.signal, stop: () => over.abort() };
}

/** `docker stop` kills a process after 10 s, and the end of a run needs some of them. */
const lastWaitMs = 4000;

/** Each wait that begins while the process ends has this much at least. */
const leastLastWaitMs = 500;

/** The monotonic time until which the waits of an ending process may take, by its signal: they share one allowance. */
const lastMoments = new WeakMap<AbortSignal, number>();
