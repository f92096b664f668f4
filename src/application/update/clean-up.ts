import type { FailedVersion } from '../../domain/check/failed-version.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { UpdatePlan } from '../../domain/plan/update-plan.ts';
import type { Outcomes } from '../../domain/run/session.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import { parseKeptName } from '../../domain/transaction/transaction-names.ts';
import type { CheckReport } from '../check/check.ts';
import { cleanUpImages, removeOldVolumes } from '../cleanup/cleanup.ts';
import { removeOverdue } from '../cleanup/kept-containers.ts';
import { forgetFailures } from '../transaction/failed-versions.ts';

export type ReplacedContainers = {
  readonly runId: string;
  readonly report: CheckReport;
  readonly plan: UpdatePlan;
  readonly outcomes: Outcomes;
};

/** Removes overdue kept containers and outdated failures, and also old volumes and images if the settings say so. */
export async function cleanUp(
  outside: Outside,
  settings: ServiceSettings,
  { runId, report, plan, outcomes }: ReplacedContainers,
  signal?: AbortSignal,
): Promise<void> {
  const isKeeping = report.unwatched.some(({ name }) => parseKeptName(name) !== undefined);
  if (isKeeping) await removeOverdue(outside, settings, signal);
  await forgetFailures(outside, [...report.obsoleteFailures, ...overcomeFailures(report, outcomes)]);
  if (settings.removeVolumes) await removeOldVolumes(outside, plan, outcomes);
  if (settings.cleanup && !settings.monitorOnly && !signal?.aborted) {
    const images = await cleanUpImages(outside, { plan, outcomes, checked: report.containers });
    if (images.length > 0) outside.publish({ kind: 'image_cleanup', runId, images, atMs: outside.clock.nowMs() });
  }
}

/** Versions that have failed before and were applied now. */
function overcomeFailures({ containers }: CheckReport, outcomes: Outcomes): readonly FailedVersion[] {
  return containers.flatMap(({ id, failedVersion }) =>
    failedVersion !== undefined && outcomes.get(id)?.outcome === 'updated' ? [failedVersion] : [],
  );
}
