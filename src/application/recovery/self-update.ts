import { formatDuration } from '../../domain/text/duration.ts';
import type { RecoveredTransaction, RecoveryReport } from '../../domain/run/event.ts';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { recoverTransactions, type RecoveryOrder } from './recover.ts';
import { type Container, noRestart } from '../../domain/container/container.ts';
import { publishesPorts } from '../../domain/plan/replacement.ts';
import { readHelperOrder } from '../../domain/self-update/helper.ts';
import { readJournal } from '../../domain/transaction/journal.ts';
import type { AwaitedDoor, HelperEnd } from '../transaction/run-transaction.ts';
import type { EndedHelper } from './end-helper.ts';

/**
 * Recovers. While a helper replaces our own container it waits for the helper to end, because the helper may stop this
 * Upkeep at any moment. An abort ends the wait and returns the results so far.
 */
export async function recoverWithHelper(
  outside: Outside,
  settings: ServiceSettings,
  signal: AbortSignal | undefined,
  order: Omit<RecoveryOrder, 'asHelperFor' | 'waitedMs'>,
): Promise<RecoveryReport> {
  const { clock, log } = outside;
  const begunMs = clock.monotonicMs();
  const ended: RecoveredTransaction[] = [];
  for (let isFirst = true; ; isFirst = false) {
    const waitedMs = clock.monotonicMs() - begunMs;
    const report = await recoverTransactions(outside, settings, signal, { ...order, waitedMs });
    if (report.awaitsHelper !== true) return { transactions: [...ended, ...report.transactions] };
    if (isFirst) log.info('A helper container is at work for Upkeep: no other update begins before it has ended');
    ended.push(...report.transactions.filter(({ result }) => result !== 'left'));
    if (!(await pause(outside, signal))) return { ...report, transactions: ended };
  }
}

/**
 * Waits for the helper after Upkeep has handed its own container over. The helper stops this Upkeep, unless it gives up
 * first. Never throws; ends with the signal.
 */
export async function watchHelper(outside: Outside, settings: ServiceSettings, signal: AbortSignal): Promise<void> {
  const begunMs = outside.clock.monotonicMs();
  while (await pause(outside, signal)) {
    const waitedMs = outside.clock.monotonicMs() - begunMs;
    try {
      const { awaitsHelper } = await recoverTransactions(outside, settings, signal, { waitedMs });
      if (awaitsHelper !== true) return;
    } catch (error) {
      outside.log.debug('The state of the helper cannot be read', { error: describeError(error) });
    }
  }
}

/**
 * Waits for the helper that replaces a door, through which the engine cannot be reached in the meantime. Ends early with
 * the signal, and if the engine stays out of reach. Never throws.
 */
export async function awaitDoorHelper(
  outside: Outside,
  settings: ServiceSettings,
  { transaction, name, startedAt }: AwaitedDoor,
  given?: AbortSignal,
): Promise<HelperEnd> {
  const { clock, log } = outside;
  const signal = AbortSignal.any([given, outside.ending].filter((one) => one !== undefined));
  const begunMs = clock.monotonicMs();
  let heardMs = begunMs;
  const ended: EndedHelper[] = [];
  const awaited = { transaction, onEnded: (one: EndedHelper) => void ended.push(one) };
  while (await pause(outside, signal)) {
    const nowMs = clock.monotonicMs();
    try {
      const order = { waitedMs: nowMs - begunMs, awaited };
      const { awaitsHelper } = await recoverTransactions(outside, settings, signal, order);
      heardMs = nowMs;
      if (awaitsHelper === true || signal.aborted) continue;
      const container = await outside.engine.inspectContainer(name, signal);
      const [end] = ended;
      const isNew = readsTransaction(container, transaction);
      const isUntouched = container?.state.startedAt === startedAt;
      const result = isNew ? 'finished' : isUntouched ? 'untouched' : 'undone';
      return { result, words: end?.words ?? '', ...(isNew && container && { newContainerId: container.id }) };
    } catch (error) {
      log.debug('The state of the helper cannot be read', { error: describeError(error) });
    }
    if (nowMs - heardMs > maxSilenceMs)
      return { result: 'none', words: `the engine is not back after ${formatDuration(maxSilenceMs)}` };
  }
  return { result: 'none', words: '' };
}

function readsTransaction(container: Container | undefined, transaction: string): boolean {
  const reading = readJournal(container?.settings.Config.Labels ?? {});
  return reading.kind === 'journal' && reading.journal.transaction === transaction;
}

/** As long as an update waits for a silent engine. */
const maxSilenceMs = 600_000;

/** False when there is nothing left to wait for. */
async function pause({ clock }: Outside, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    await clock.sleep(pollMs, signal);
    return true;
  } catch {
    return false;
  }
}

const pollMs = 1000;

/**
 * The work of the helper: finishes one transaction from the point of the handover, and makes sure that the engine does
 * not start the helper again. After a throw or a `failed` report the engine does start it again.
 */
export async function finishUpdate(
  outside: Outside,
  settings: ServiceSettings,
  transaction: string,
): Promise<RecoveryReport> {
  const gate = outside.door && createDoorGate(outside, outside.door);
  await gate?.look();
  const order = { asHelperFor: transaction, whyDoorClosed: gate?.whyClosed };
  const report = await recoverTransactions(outside, settings, undefined, order);
  if (report.transactions.some(({ result }) => result === 'failed')) return report;
  const { engine, instance } = outside;
  const own = instance.containerId === undefined ? undefined : await engine.inspectContainer(instance.containerId);
  const isHelper = own !== undefined && readHelperOrder(own.settings.Config.Labels ?? {}) !== undefined;
  if (isHelper) await engine.updateRestartPolicy(own.id, noRestart);
  return report;
}

type DoorGate = {
  /** Notes whether the engine can be reached through the old container. */
  readonly look: () => Promise<void>;
  /** Why it cannot be reached through the new one, after some time. Undefined when it can. */
  readonly whyClosed: () => Promise<string | undefined>;
};

/**
 * The proof of a new version of the engine's door: the engine lists containers through it. A proxy that runs and does
 * not pass calls on would cut the service off for good. A proxy that knows its clients, and refuses the helper's calls,
 * may refuse them afterwards too.
 */
function createDoorGate(
  { clock, log, instance }: Pick<Outside, 'clock' | 'log' | 'instance'>,
  door: NonNullable<Outside['door']>,
): DoorGate {
  let wasRefused = false;

  async function ask(): Promise<ServiceError | undefined> {
    try {
      await door.listContainers({ ids: [instance.containerId ?? ''] });
      return undefined;
    } catch (error) {
      return error instanceof ServiceError ? error : new ServiceError('engine-refused', describeError(error));
    }
  }

  return {
    async look() {
      const error = await ask();
      wasRefused = error?.code === 'engine-denied';
      if (error !== undefined)
        log.info('The helper does not reach the engine in the usual way', { error: error.message });
    },
    async whyClosed() {
      const untilMs = clock.monotonicMs() + patienceMs;
      for (;;) {
        const error = await ask();
        if (error === undefined || (wasRefused && error.code === 'engine-denied')) return undefined;
        if (clock.monotonicMs() >= untilMs) return `the engine cannot be reached through it: ${error.message}`;
        await clock.sleep(pauseMs);
      }
    },
  };
}

/** After its health check. Names in a network may take some seconds to lead to another container. */
const patienceMs = 30_000;
const pauseMs = 500;

/**
 * Whether this Upkeep replaces its own container: by the settings and, with the HTTP API on, by the container's ports.
 */
export function createSelfUpdateState(
  { engine, instance, log }: Pick<Outside, 'engine' | 'instance' | 'log'>,
  { selfUpdate, believedHeader }: Pick<ServiceSettings, 'selfUpdate' | 'believedHeader'>,
) {
  let isOn = false;

  return {
    isOn: () => isOn,
    /** Asks the engine if needed. Logs the obstacle to a self-update, and a way around the proxy that names people. */
    async look(signal?: AbortSignal): Promise<void> {
      const { containerId, isMainProcess } = instance;
      const isPossible = selfUpdate === 'on' || selfUpdate === 'unless-published';
      const isNeeded = isPossible || believedHeader !== undefined;
      if (containerId === undefined || !isMainProcess || !isNeeded || signal?.aborted) return;
      const own = await engine.inspectContainer(containerId, signal);
      if (own === undefined) return;
      const isPublished = publishesPorts(own);
      if (isPublished && believedHeader !== undefined)
        log.warn(
          `The port of Upkeep is published, so requests can come past the proxy whose header ${believedHeader} is believed`,
          { remedy: 'publish no port, or let --http-api-trusted-proxies name only the address of the proxy' },
        );
      if (!isPossible) return;
      isOn = selfUpdate === 'on' || !isPublished;
      if (!isOn) log.info('Self-update is off, because the HTTP API is on and the container publishes ports');
    },
  };
}
