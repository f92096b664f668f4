import type { RecoveredTransaction, RecoveryReport } from '../../domain/run/recovery-report.ts';
import { describeError } from '../../domain/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import { recoverTransactions, type RecoveryOrder } from './recover.ts';
import { readHelperOrder } from '../../domain/self-update/helper.ts';
import { noRestart } from '../../domain/transaction/policy.ts';
import { publishesPorts } from '../../domain/self-update/self-update.ts';

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
    if (isFirst) log.info('A helper container is updating Upkeep itself: no other update begins before it has ended');
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
  const report = await recoverTransactions(outside, settings, undefined, { asHelperFor: transaction });
  if (report.transactions.some(({ result }) => result === 'failed')) return report;
  const { engine, instance } = outside;
  const own = instance.containerId === undefined ? undefined : await engine.inspectContainer(instance.containerId);
  const isHelper = own !== undefined && readHelperOrder(own.settings.Config.Labels ?? {}) !== undefined;
  if (isHelper) await engine.updateRestartPolicy(own.id, noRestart);
  return report;
}

/**
 * Whether this Upkeep replaces its own container: by the settings and, with the HTTP API on, by the container's ports.
 */
export function createSelfUpdateState(
  { engine, instance, log }: Pick<Outside, 'engine' | 'instance' | 'log'>,
  { selfUpdate }: Pick<ServiceSettings, 'selfUpdate'>,
) {
  let isOn = false;

  return {
    isOn: () => isOn,
    /** Asks the engine if needed. Logs the obstacle to a self-update. */
    async look(signal?: AbortSignal): Promise<void> {
      const { containerId, isMainProcess } = instance;
      const isPossible = selfUpdate === 'on' || selfUpdate === 'unless-published';
      if (containerId === undefined || !isMainProcess || !isPossible || signal?.aborted) return;
      const own = await engine.inspectContainer(containerId, signal);
      if (own === undefined) return;
      isOn = selfUpdate === 'on' || !publishesPorts(own);
      if (!isOn) log.info('Self-update is off, because the HTTP API is on and the container publishes ports');
    },
  };
}
