import type { ContainerSummary } from '../../domain/container/container.ts';
import { describeError } from '../../domain/text/errors.ts';
import type { EngineEvent } from '../../domain/outside/engine.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { mapConcurrently } from '../async/concurrency.ts';

/** Start times of containers, by the engine's clock. The engine's list does not show them. */
export type StartTimes = {
  /** Forgets the time of a container that starts. Marks all times as doubtful after a reconnect. */
  readonly hear: (event: EngineEvent) => void;
  /** Inspects running containers without a time, few at once, including those of a later call. Never rejects. */
  readonly find: (containers: readonly ContainerSummary[], signal: AbortSignal) => Promise<void>;
  /** Milliseconds since the epoch. Undefined for a container that does not run or has not been inspected. */
  readonly of: (container: Pick<ContainerSummary, 'id' | 'status'>) => number | undefined;
  /** Changes with every change of the times. */
  readonly revision: () => number;
};

/**
 * Inspects a container once per start. The engine announces starts, so a time is valid until the next one. Nothing is
 * inspected before the first `connected`, because a start could be missed.
 */
export function createStartTimes({
  engine,
  clock,
  log,
}: Pick<ReadOnlyOutside, 'engine' | 'clock' | 'log'>): StartTimes {
  /** Finished and running inspections by container id, each since the last start. */
  const known = new Map<string, Inspected>();
  let listed: readonly ContainerSummary[] = [];
  let isConnected = false;
  let isFinding = false;
  let isWaiting = false;
  let revision = 0;

  const isDue = ({ id }: ContainerSummary) => {
    const { isDoubtful, askedAtMs } = known.get(id) ?? neverInspected;
    return isDoubtful && clock.monotonicMs() - askedAtMs >= doubtLastsMs;
  };

  /** The shown time is doubtful and must be read again. */
  const isOutdated = ({ id }: ContainerSummary) => {
    const { isDoubtful, startedAtMs } = known.get(id) ?? neverInspected;
    return isDoubtful && startedAtMs !== undefined;
  };

  function forgetStopped(): void {
    const running = new Set(listed.filter(hasProcess).map(({ id }) => id));
    for (const id of known.keys()) if (!running.has(id)) known.delete(id);
  }

  async function inspect({ id }: ContainerSummary, signal: AbortSignal): Promise<void> {
    const inspected = { ...neverInspected, ...known.get(id), isDoubtful: false, askedAtMs: clock.monotonicMs() };
    known.set(id, inspected);
    try {
      const startedAtMs = Date.parse((await engine.inspectContainer(id, signal))?.state.startedAt ?? '');
      // A start in the meantime has removed `inspected` from `known` and causes an inspection of its own.
      inspected.startedAtMs = Number.isNaN(startedAtMs) ? undefined : startedAtMs;
    } catch (error) {
      inspected.startedAtMs = undefined;
      inspected.isDoubtful = true;
      if (!signal.aborted) log.debug('A container cannot be inspected', { container: id, error: describeError(error) });
    }
    revision += 1;
  }

  async function find(containers: readonly ContainerSummary[], signal: AbortSignal): Promise<void> {
    listed = containers;
    forgetStopped();
    if (isFinding || !isConnected) return;
    isFinding = true;
    for (;;) {
      const due = signal.aborted ? [] : listed.filter((container) => hasProcess(container) && isDue(container));
      if (due.length === 0) break;
      await mapConcurrently(due, inspectionsAtOnce, (container) => inspect(container, signal));
    }
    isFinding = false;
    if (listed.some(isOutdated)) void findLater(signal);
  }

  /** The next reading of the list may be a minute away. */
  async function findLater(signal: AbortSignal): Promise<void> {
    if (isWaiting || signal.aborted) return;
    isWaiting = true;
    await clock.sleep(doubtLastsMs, signal).catch(() => undefined);
    isWaiting = false;
    if (!signal.aborted) await find(listed, signal);
  }

  return {
    hear(event) {
      if (event.kind === 'connected') {
        isConnected = true;
        for (const inspected of known.values()) inspected.isDoubtful = true;
      } else if (event.kind === 'container' && isStart.test(event.action)) {
        if (known.delete(event.id)) revision += 1;
      }
    },
    find,
    of: (container) => (hasProcess(container) ? known.get(container.id)?.startedAtMs : undefined),
    revision: () => revision,
  };
}

/** Used if start times are not shown. */
export const noStartTimes: StartTimes = {
  hear: () => {},
  find: () => Promise.resolve(),
  of: () => undefined,
  revision: () => 0,
};

type Inspected = {
  startedAtMs: number | undefined;
  /** By the monotonic clock. */
  readonly askedAtMs: number;
  /** A start may have been missed, or the inspection failed. */
  isDoubtful: boolean;
};

const neverInspected: Inspected = { startedAtMs: undefined, askedAtMs: -Infinity, isDoubtful: true };

/** Few, because nobody waits for these times. */
const inspectionsAtOnce = 4;

/** The shortest time between two inspections of a container without a start, even if the events break off often. */
const doubtLastsMs = 10_000;

const isStart = /^(?:re)?start$/;

function hasProcess({ status }: Pick<ContainerSummary, 'status'>): boolean {
  return status === 'running' || status === 'paused';
}
