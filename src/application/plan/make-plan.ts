import type { ContainerSummary } from '../../domain/container/container.ts';
import { buildDependencyGraph } from '../../domain/plan/dependency-graph.ts';
import { withoutKept } from '../../domain/rollback/kept-containers.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';
import { imageLabelsIn, indexImages } from '../../domain/container/image-index.ts';
import { whyOptedOut } from '../../domain/check/opted-out.ts';
import type { ServiceSettings, SelfUpdate } from '../../domain/settings/settings.ts';
import { planUpdate, type StaleContainer, type UpdatePlan } from '../../domain/plan/update-plan.ts';
import type { CheckReport } from '../check/check.ts';
import { inspectContainers } from '../engine/inspect-containers.ts';

export type MadePlan = {
  readonly plan: UpdatePlan;
  /** Ids of all containers there are, in listing order. */
  readonly listing: readonly string[];
};

export function staleIn({ containers }: CheckReport): readonly StaleContainer[] {
  return containers
    .filter(({ status }) => status === 'stale')
    .map(({ id, name, reference, pullDigest }) => ({ id, name, reference, digest: pullDigest }));
}

/**
 * Plans how stale containers are replaced. It inspects every container there is, because any of
 * them may hold on to one that is replaced; where nothing is stale it asks the engine for nothing.
 */
export async function makePlan(
  outside: ReadOnlyOutside,
  settings: ServiceSettings,
  stale: readonly StaleContainer[],
  signal?: AbortSignal,
): Promise<MadePlan> {
  if (stale.length === 0) return { plan: { transactions: [], refused: [], restarts: [] }, listing: [] };
  const [listed, images] = await Promise.all([
    outside.engine.listContainers({}, signal),
    outside.engine.listImages(signal),
  ]);
  const { containers, unreadable } = await inspectContainers(outside, withoutKept(listed), signal);
  const imageLabelsOf = imageLabelsIn(indexImages(images));
  const graph = buildDependencyGraph(containers, settings);
  for (const warning of graph.warnings) outside.log.warn(warning);
  const optedOut = listed.flatMap((container) => {
    // The list shows a bare id once the tag has moved on.
    const image = graph.containers.get(container.id)?.settings.Config.Image ?? container.image;
    const reason = whyOptedOut({ ...container, image, imageLabels: imageLabelsOf(container) }, settings);
    return reason === undefined ? [] : [[container.id, reason] as const];
  });
  const needed = listed.flatMap((container) => {
    const holder = unreadable.find(({ networkMode }) => isNetworkOf(container, networkMode));
    if (holder === undefined) return [];
    return [[container.id, `lends its network to ${quoted(holder.name)}, which cannot be inspected`] as const];
  });
  const imageIds = new Set(images.map(({ id }) => id));
  return {
    plan: planUpdate({
      stale,
      graph,
      optedOut: new Map([...needed, ...optedOut]),
      imageIds,
      ownId: outside.instance.containerId,
      settings: { ...settings, selfUpdate: ownSelfUpdate(outside.instance, settings) },
    }),
    listing: listed.map(({ id }) => id),
  };
}

/** Upkeep's mode of self-update. A successor would not start this process unless it is the container's main process. */
function ownSelfUpdate({ isMainProcess }: ReadOnlyOutside['instance'], { selfUpdate }: ServiceSettings): SelfUpdate {
  return isMainProcess || selfUpdate === 'not-by-this-command' ? selfUpdate : 'not-main-process';
}

/** True if the container shares this one's network. The list shows this tie; for other ties an inspection is needed. */
function isNetworkOf({ id, name }: ContainerSummary, networkMode: string): boolean {
  return networkMode === `container:${id}` || networkMode === `container:${name}`;
}
