import type { ContainerSummary } from '../../domain/container/container.ts';
import { describeError } from '../../domain/errors.ts';
import type { EngineEvent } from '../../domain/outside/engine-reader.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { mapConcurrently } from '../async/concurrency.ts';

/** When containers were started, by the engine's clock: its list does not tell. */
export type StartTimes = {
  /** Forgets the time of a container that starts, and doubts all after a break in the events. */
  readonly hear: (event: EngineEvent) => void;
  /** Inspects running containers without a time, few at a time; containers of a later call are among them. Never rejects. */
  readonly find: (containers: readonly ContainerSummary[], signal: AbortSignal) => Promise<void>;
  /** Milliseconds since the epoch; undefined for a container that does not run, or is not inspected yet. */
  readonly of: (container: Pick<ContainerSummary, 'id' | 'status'>) => number | undefined;
  /** Another number whenever there is something new. */
  readonly revision: () => number;
};

/**
 * One inspection for each start of a container: the engine announces starts, so a time holds until then. Before the
 * first `connected` nothing is inspected, because a start could go unheard.
 */
export function createStartTimes({
  engine,
  clock,
  log,
}: Pick<ReadOnlyOutside, 'engine' | 'clock' | 'log'>): StartTimes {
  /** By container id; each has been inspected since its start, or is being inspected. */
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

  /** A time is shown that was asked for too short a while ago to be asked for again. */
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
      // A start meanwhile has forgotten `inspected`, and is inspected for itself.
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

/** Where nobody asks for them. */
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
  /** It may have started unheard since, or could not be inspected. */
  isDoubtful: boolean;
};

const neverInspected: Inspected = { startedAtMs: undefined, askedAtMs: -Infinity, isDoubtful: true };

/** Nobody waits for these times, so they leave the engine to others. */
const inspectionsAtOnce = 4;

/** A container is not inspected again before, however often the events break off. */
const doubtLastsMs = 10_000;

const isStart = /^(?:re)?start$/;

function hasProcess({ status }: Pick<ContainerSummary, 'status'>): boolean {
  return status === 'running' || status === 'paused';
}
