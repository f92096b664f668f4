import { accessTest, type AccessFilter } from '../../domain/access/rights.ts';
import { failedInAnother, withCanaries } from '../../domain/plan/order.ts';
import type { ContainerSummary, Container } from '../../domain/container/container.ts';
import { judgeUnit, unitOf, type UnitVerdict } from '../../domain/container/quadlet.ts';
import { withoutKept } from '../../domain/recovery/leftovers.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { isContainer } from '../../domain/run/session.ts';
import { quoted } from '../../domain/text/printable.ts';
import { imageLabelsIn } from '../../domain/container/lookup.ts';
import { monitoredOnly, whyOptedOut } from '../../domain/check/selection.ts';
import { labelValuesOf, type ServiceSettings, type SelfUpdate } from '../../domain/settings/effective-settings.ts';
import { planUpdate, type MadePlan, type StaleContainer, type UpdatePlan } from '../../domain/plan/update-plan.ts';
import type { CheckReport } from './check.ts';
import { listAll, readOwnWays, unlessBroken, type Listing } from '../engine/listing.ts';
import {
  buildDependencyGraph,
  type DependencyGraph,
  type SoftOptions,
  affectedBy,
} from '../../domain/plan/dependency-graph.ts';
import { inspectionsAtOnce, mapConcurrently } from '../async/concurrency.ts';

export function staleIn(
  { containers }: Pick<CheckReport, 'containers'>,
  settings: ServiceSettings,
): readonly StaleContainer[] {
  const failedElsewhere = failedInAnother(containers, settings);
  return containers
    .filter((one) => one.status === 'stale' && isContainer(one))
    .map(({ id, name, reference, successorReference, pullDigest, verified }) => {
      const waitsBecause = failedElsewhere.get(id);
      return {
        id,
        name,
        reference: successorReference,
        digest: pullDigest,
        ...(verified !== undefined && { verified }),
        ...(successorReference !== reference && { formerReference: reference }),
        ...(waitsBecause !== undefined && { waitsBecause }),
      };
    });
}

/** Plans the replacement of stale containers. It makes no engine call if none is stale. */
export type Planner = (
  stale: readonly StaleContainer[],
  listing: Listing,
  signal?: AbortSignal,
  /** Containers outside are not changed, also not together with one inside. */
  within?: AccessFilter,
) => Promise<MadePlan>;

/** Any container may depend on one that is replaced, so the plan covers all containers. */
export function createPlanner(outside: ReadOnlyOutside, settings: ServiceSettings): Planner {
  const readGraph = createGraphReader(outside, settings);
  const { clock, instance, log } = outside;
  const ownId = instance.containerId;

  return async (given, listing, signal, within) => {
    const stale = given.filter(({ waitsBecause }) => waitsBecause === undefined);
    const waiting = given.flatMap(({ id, name, waitsBecause: reason }): UpdatePlan['refused'] =>
      reason === undefined ? [] : [{ id, name, reason, isDeferred: true }],
    );
    if (stale.length === 0) return { plan: { transactions: [], refused: waiting, restarts: [] }, listing: [] };
    const isOld = clock.monotonicMs() - listing.begunAt.monotonicMs > maxListingAgeMs;
    const { containers: listed, images, listedImages } = isOld ? await listAll(outside, signal) : listing;
    const staleIds = new Set(stale.map(({ id }) => id));
    const { graph, unreadable } = await readGraph(withoutKept(listed), staleIds, signal);
    const imageLabelsOf = imageLabelsIn(images);
    for (const warning of graph.warnings) log.warn(warning);
    const isWithin = within && accessTest(within);
    const optedOut = listed.flatMap((container) => {
      // The list shows a bare id once the tag has moved.
      const image = graph.containers.get(container.id)?.settings.Config.Image ?? container.image;
      if (isWithin?.({ name: container.name, image }) === false) return [[container.id, outsideWords] as const];
      const reason = whyOptedOut({ ...container, image, imageLabels: imageLabelsOf(container) }, settings);
      // It is only stale if a person has asked for it.
      const isAsked = reason === monitoredOnly && staleIds.has(container.id);
      return reason === undefined || isAsked ? [] : [[container.id, reason] as const];
    });
    const needed = listed.flatMap((container) => {
      const holder = unreadable.find(({ networkMode }) => isNetworkOf(container, networkMode));
      if (holder === undefined) return [];
      return [[container.id, `lends its network to ${quoted(holder.name)}, which cannot be inspected`] as const];
    });
    const unlistedIds = listed.flatMap(({ imageId }) => images.byId(imageId)?.id ?? []);
    const imageIds = new Set([...listedImages.map(({ id }) => id), ...unlistedIds]);
    const ways = await readOwnWays(outside, listed, signal);
    const reasonsOf = (isByHand: boolean) =>
      [...ways].flatMap(([id, { reason, byHand }]) =>
        (byHand !== undefined) === isByHand ? [[id, reason] as const] : [],
      );
    const plan = planUpdate({
      stale,
      graph,
      // The restart of a container that depends on another one would cut the connection too.
      optedOut: new Map([...needed, ...optedOut, ...reasonsOf(true)]),
      doors: new Map(reasonsOf(false)),
      units: await readUnits(outside, stale, graph, signal),
      imageIds,
      ownId,
      settings: { ...settings, selfUpdate: ownSelfUpdate(instance, settings) },
    });
    return {
      plan: withCanaries({ ...plan, refused: [...plan.refused, ...waiting] }, settings),
      listing: listed.map(({ id }) => id),
      ways,
    };
  };
}

/** The units of systemd that run stale containers of Podman. */
async function readUnits(
  { units, engine }: Pick<ReadOnlyOutside, 'units' | 'engine'>,
  stale: readonly StaleContainer[],
  { containers }: Pick<DependencyGraph, 'containers'>,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, UnitVerdict>> {
  const run = stale.flatMap(({ id, reference, formerReference }) => {
    const container = containers.get(id);
    const name = container && unitOf(container);
    const next = formerReference === undefined ? undefined : reference;
    return container === undefined || name === undefined ? [] : [{ container, name, next }];
  });
  if (units === undefined || run.length === 0 || (await engine.info(signal)).kind !== 'podman') return new Map();
  const verdicts = await mapConcurrently(run, unitsAtOnce, async ({ container, name, next }) => {
    const reading = await units.read(name);
    const isOff = labelValuesOf(container).composeFiles === false;
    const kept = isOff && { whyNotWritten: 'its label compose-files keeps Upkeep from writing its file' };
    return [container.id, judgeUnit(container, name, { ...reading, ...kept }, next)] as const;
  });
  return new Map(verdicts);
}

/** Each is a process. */
const unitsAtOnce = 4;

const outsideWords = 'is not one of those that this caller may change';

/**
 * Registries may take long to answer. A container that was created since may depend on one that is replaced, so an
 * older listing is read again.
 */
const maxListingAgeMs = 5000;

/** A successor starts only the container's main process, and no process that `docker exec` started. */
function ownSelfUpdate({ isMainProcess }: ReadOnlyOutside['instance'], { selfUpdate }: ServiceSettings): SelfUpdate {
  return isMainProcess || selfUpdate === 'not-by-this-command' ? selfUpdate : 'not-main-process';
}

/**
 * True if `networkMode` is the network of this container. The list shows this dependency; others need an inspection.
 */
function isNetworkOf({ id, name }: ContainerSummary, networkMode: string): boolean {
  return networkMode === `container:${id}` || networkMode === `container:${name}`;
}

type ReadGraph = {
  readonly graph: DependencyGraph;
  /** Listed containers that the engine cannot inspect. */
  readonly unreadable: readonly ContainerSummary[];
};

/** `ids` are the containers to replace. Throws a `ServiceError` when the engine cannot be reached. */
type GraphReader = (
  listed: readonly ContainerSummary[],
  ids: ReadonlySet<string>,
  signal?: AbortSignal,
) => Promise<ReadGraph>;

/**
 * Reads the dependencies among all listed containers. The list does not show them, so each container is inspected once
 * in its life. Containers that an update of `ids` changes are always inspected again. For the others the earlier
 * inspection still holds: an engine fixes the dependencies when it creates a container.
 */
export function createGraphReader(
  outside: Pick<ReadOnlyOutside, 'engine' | 'log'>,
  options: Pick<SoftOptions, 'useComposeDependsOn'>,
): GraphReader {
  let remembered: ReadonlyMap<string, Container> = new Map();

  return async (listed, ids, signal) => {
    const containers = new Map(listed.flatMap((summary) => asListed(summary, remembered.get(summary.id))));
    const unreadable: ContainerSummary[] = [];
    const inspected = new Set<string>();
    let graph = buildDependencyGraph([...containers.values()], options);
    let wanted = listed.filter(({ id }) => ids.has(id) || !containers.has(id));
    while (wanted.length > 0) {
      const read = await inspectContainers(outside, wanted, signal);
      for (const { id } of wanted) {
        inspected.add(id);
        containers.delete(id);
      }
      for (const container of read.containers) containers.set(container.id, container);
      unreadable.push(...read.unreadable);
      graph = buildDependencyGraph([...containers.values()], options);
      const touched = affectedBy(graph, ids);
      wanted = listed.filter(({ id }) => touched.has(id) && !inspected.has(id));
    }
    remembered = containers;
    return { graph, unreadable };
  };
}

/** Names change, and links name their targets. */
function asListed(
  { id, name }: ContainerSummary,
  container: Container | undefined,
): readonly (readonly [string, Container])[] {
  return container === undefined || hasLinks(container) ? [] : [[id, { ...container, name }]];
}

function hasLinks({ settings: { HostConfig, Networks } }: Container): boolean {
  const links = [HostConfig.Links, ...Object.values(Networks).map(({ Links }) => Links)];
  return links.some((each) => (each ?? []).length > 0);
}

/** A container that was removed since the listing is in neither part of the answer. */
async function inspectContainers(
  outside: Pick<ReadOnlyOutside, 'engine' | 'log'>,
  listed: readonly ContainerSummary[],
  signal: AbortSignal | undefined,
) {
  const unreadable: ContainerSummary[] = [];
  const containers = await mapConcurrently(listed, inspectionsAtOnce, (summary) => {
    const note = (error: string) => {
      unreadable.push(summary);
      const fields = { container: summary.name, error };
      outside.log.warn('A container cannot be inspected and is left out of the plan', fields);
    };
    return unlessBroken(outside, () => outside.engine.inspectContainer(summary.id, signal), note, signal);
  });
  return { containers: containers.filter((container) => container !== undefined), unreadable };
}
