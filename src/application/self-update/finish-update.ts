import type { RecoveryReport } from '../../domain/run/recovery-report.ts';
import { readHelperOrder } from '../../domain/self-update/helper.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import { recoverTransactions } from '../recovery/recover.ts';

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
  if (isHelper) await engine.updateRestartPolicy(own.id, { Name: 'no', MaximumRetryCount: 0 });
  return report;
}
