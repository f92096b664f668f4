import { readHelperOrder } from '../../domain/self-update/helper.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import { recoverTransactions, type RecoveryReport } from '../recovery/recover.ts';

/**
 * What a helper does: brings one transaction to its end, forward from where it was handed over, and
 * sees to it that the engine does not start the helper again. Throws, or reports `failed`, where the
 * engine shall start it again.
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
  if (isHelper) await engine.updateRestartPolicy(own.id, { Name: 'no', MaximumRetryCount: 0 });
  return report;
}
