import type { Container, ContainerSummary } from '../domain/container.ts';
import { buildDependencyGraph } from '../domain/dependency-graph.ts';
import { describeError, type ErrorCode, ServiceError } from '../domain/errors.ts';
import type { Outside } from '../domain/outside.ts';
import { whyOptedOut } from '../domain/selection.ts';
import type { ServiceSettings } from '../domain/settings.ts';
import { planUpdate, type UpdatePlan } from '../domain/update-plan.ts';
import type { CheckReport } from './check.ts';
import { mapConcurrently } from './concurrency.ts';

export type MadePlan = {
  readonly plan: UpdatePlan;
  /** Ids of all containers there are, in listing order. */
  readonly listing: readonly string[];
};

/**
 * Plans the update of what a check found stale. It inspects every container there is, because any of
 * them may hold on to one that is replaced; where nothing is stale it asks the engine for nothing.
 */
export async function makePlan(
  outside: Outside,
  settings: ServiceSettings,
  report: CheckReport,
  signal?: AbortSignal,
): Promise<MadePlan> {
  const stale = report.containers
    .filter(({ status }) => status === 'stale')
    .map(({ id, name, reference, pullDigest }) => ({ id, name, reference, digest: pullDigest }));
  if (stale.length === 0) return { plan: { transactions: [], refused: [] }, listing: [] };
  const [listed, images] = await Promise.all([
    outside.engine.listContainers({}, signal),
    outside.engine.listImages(signal),
  ]);
  const containers = await inspectAll(outside, listed, signal);
  const graph = buildDependencyGraph(containers, settings);
  for (const warning of graph.warnings) outside.log.warn(warning);
  const optedOut = listed.flatMap((container) => {
    const reason = whyOptedOut(container, settings);
    return reason === undefined ? [] : [[container.id, reason] as const];
  });
  const imageIds = new Set(images.map(({ id }) => id));
  return {
    plan: planUpdate({ stale, graph, optedOut: new Map(optedOut), imageIds, ownId: outside.instance.containerId }),
    listing: listed.map(({ id }) => id),
  };
}

/** An engine answers an inspect in less than a millisecond; more at once only queue up there. */
const inspectionsAtOnce = 16;

/** One broken container must not keep the others from being updated, a lost engine must. */
const fatal: readonly ErrorCode[] = ['engine-unreachable', 'engine-denied', 'timeout', 'cancelled'];

async function inspectAll(
  { engine, log }: Outside,
  listed: readonly ContainerSummary[],
  signal: AbortSignal | undefined,
): Promise<readonly Container[]> {
  const containers = await mapConcurrently(listed, inspectionsAtOnce, async ({ id, name }) => {
    try {
      return await engine.inspectContainer(id, signal);
    } catch (error) {
      if (signal?.aborted || !(error instanceof ServiceError) || fatal.includes(error.code)) throw error;
      log.warn('A container cannot be inspected and is left out of the plan', {
        container: name,
        error: describeError(error),
      });
      return undefined;
    }
  });
  return containers.filter((container) => container !== undefined);
}
