import type { Outside } from '../../domain/outside/outside.ts';
import type { Outcomes } from '../../domain/run/session.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import type { CheckReport } from '../check/check.ts';
import type { Listing } from '../engine/list-all.ts';
import { forgetFailures } from './failed-services.ts';
import { planServices } from './plan-services.ts';
import { runServices } from './run-services.ts';

export type CheckedServices = { readonly report: CheckReport; readonly listing: Listing; readonly runId: string };

/** Updates the stale services of a report, that which we run in last of all. Without services it does nothing. */
export async function updateServices(
  outside: Outside,
  settings: ServiceSettings,
  { report, listing, runId }: CheckedServices,
  signal?: AbortSignal,
): Promise<Outcomes> {
  if (listing.services === undefined) return new Map();
  const planned = planServices(report, listing, outside.instance);
  const others = planned.filter(({ isOwn }) => isOwn !== true);
  const outcomes = await runServices(outside, settings, others, runId, signal);
  const updated = new Set([...outcomes].flatMap(([id, { outcome }]) => (outcome === 'updated' ? [id] : [])));
  await forgetFailures(outside, listing.services, report.containers, updated);
  const own = planned.filter(({ isOwn }) => isOwn === true);
  return new Map([...outcomes, ...(await runServices(outside, settings, own, runId, signal))]);
}

/** The same report, of containers alone: what follows an update of those has no hold on services. */
export function withoutServices<Report extends Pick<CheckReport, 'containers'>>(report: Report): Report {
  const containers = report.containers.filter(({ kind }) => kind !== 'service');
  return containers.length === report.containers.length ? report : { ...report, containers };
}
