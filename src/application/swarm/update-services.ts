import type { Outside } from '../../domain/outside/outside.ts';
import type { Outcomes } from '../../domain/run/session.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import type { CheckReport } from '../check/check.ts';
import type { Listing } from '../engine/list-all.ts';
import type { ServiceListing } from '../engine/service-listing.ts';
import { forgetFailures } from './failed-services.ts';
import { planServices } from './plan-services.ts';
import { runServices } from './run-services.ts';

export type CheckedServices = { readonly report: CheckReport; readonly listing: Listing; readonly runId: string };

/**
 * Updates the stale services of a report while `replaceContainers` is at the containers, with `rollingRestart` after it;
 * that which we run in comes last of all. Without services only the containers are replaced. A failure of the one part is
 * thrown when the other has ended.
 */
export async function updateBesideServices<Replaced>(
  outside: Outside,
  settings: ServiceSettings,
  { report, listing, runId }: CheckedServices,
  replaceContainers: () => Promise<Replaced>,
  signal?: AbortSignal,
): Promise<{ readonly replaced: Replaced; readonly services: Outcomes }> {
  const { services } = listing;
  if (services === undefined) return { replaced: await replaceContainers(), services: new Map() };
  const planned = planServices(report, listing, outside.instance);

  async function updateOthers(listed: ServiceListing): Promise<Outcomes> {
    const others = planned.filter(({ isOwn }) => isOwn !== true);
    const outcomes = await runServices(outside, settings, others, runId, signal);
    const updated = new Set([...outcomes].flatMap(([id, { outcome }]) => (outcome === 'updated' ? [id] : [])));
    await forgetFailures(outside, listed, report.containers, updated);
    return outcomes;
  }

  const containers = replaceContainers();
  const others = settings.rollingRestart ? containers.then(() => updateOthers(services)) : updateOthers(services);
  await Promise.allSettled([containers, others]);
  const [replaced, outcomes] = [await containers, await others];
  const own = planned.filter(({ isOwn }) => isOwn === true);
  return { replaced, services: new Map([...outcomes, ...(await runServices(outside, settings, own, runId, signal))]) };
}

/** The same report, of containers alone: what follows an update of those has no hold on services. */
export function withoutServices<Report extends Pick<CheckReport, 'containers'>>(report: Report): Report {
  const containers = report.containers.filter(({ kind }) => kind !== 'service');
  return containers.length === report.containers.length ? report : { ...report, containers };
}
