import type { WatchedContainer } from '../../domain/check/selection.ts';
import type { Hold } from '../../domain/decision/decisions.ts';
import { isContainer } from '../../domain/run/session.ts';
import { effectiveSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { parseTransactionName } from '../../domain/transaction/transaction-names.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { listAll } from '../engine/listing.ts';
import { createJudge, type HoldParts } from './check.ts';
import { imageIn, type CheckedContainer, type JudgeOrder, type PartOfRun } from './checked-container.ts';
import { createSelectContainers } from './select-containers.ts';
import type { Container } from '../../domain/container/container.ts';
import { digestsOf } from '../../domain/container/lookup.ts';
import type { Digest } from '../../domain/image/image-reference.ts';
import type { ProvingContainer } from '../../domain/waves.ts';
import { mapConcurrently } from '../async/concurrency.ts';

/** Reads which versions the containers of an engine prove. The order is that of the containers that wait for them. */
export type Prove = (
  order: Pick<PartOfRun, 'registry'> & Pick<JudgeOrder, 'applyCooldown'>,
  signal?: AbortSignal,
) => Promise<EngineProof>;

/**
 * A stopped or restarting container is read too, even if no run updates it: it may have been updated and crashed since.
 * Waves do not wait for containers that no run updates: with `monitor-only` or `no-pull`, or on the way to the engine.
 */
export function createProve(world: ReadOnlyOutside, settings: ServiceSettings, known: Pick<HoldParts, 'tags'>): Prove {
  const outside = { ...world, publish: () => {} };
  const everyState = { ...settings, includeStopped: true, includeRestarting: true };
  const select = createSelectContainers(outside, everyState, () => {});
  const judge = createJudge(outside, settings, known);

  function isUpdated({ container: { status } }: WatchedContainer): boolean {
    if (status === 'restarting') return settings.includeRestarting;
    return settings.includeStopped || (status !== 'exited' && status !== 'created');
  }

  return async ({ registry, applyCooldown }, signal) => {
    const everything = { images: [], containers: [], runId: '' };
    const selected = await select(await listAll(outside, signal), everything, signal);
    const updated = selected.watched.filter(isUpdated);
    const order = { runId: '', applyCooldown, part: { registry } };
    const report = await judge({ ...selected, watched: updated }, order, signal);
    const checked = report.containers.filter((one) => isContainer(one) && !isNever(one.hold));
    const inUpdate = new Set(selected.listing.containers.map(({ name }) => parseTransactionName(name)?.name));
    const stopped = selected.watched.flatMap((watched) => {
      const { id, name, image, imageId } = watched.container;
      const { monitorOnly, noPull } = effectiveSettings(settings, watched.labelSettings);
      if (isUpdated(watched) || monitorOnly || noPull) return [];
      const text = imageIn(selected.references.get(id), image);
      return [{ ...unchecked, id, name, image: text, imageId, isUpdated: inUpdate.has(name) }];
    });
    const interrupted = report.unfinished.map(({ id, name, image, imageId }) => ({
      ...{ ...unchecked, id, name, image, imageId },
      isUpdated: true,
    }));
    return readProof(
      outside,
      [...checked.map((one) => ({ ...one, isUpdated: true })), ...stopped, ...interrupted],
      signal,
    );
  };
}

function isNever(hold: Hold | undefined): boolean {
  return hold === 'monitor-only' || hold === 'no-pull' || hold === 'own-way';
}

const unchecked = { status: 'unknown', digest: undefined, latestDigest: undefined, failedVersion: undefined } as const;

/** The versions that an engine's containers prove or disprove. */
export type EngineProof = {
  /** The engine's own clock, milliseconds since the epoch. */
  readonly nowMs: number;
  readonly containers: readonly (ProvingContainer & {
    /** In its short form. */
    readonly reference: string;
    /** The reference of the newest version that it may move to. Undefined where unknown. */
    readonly newest: string | undefined;
    /** False: it has failed or is restarting, so no run updates it. It can only disprove the version that it has. */
    readonly isUpdated: boolean;
    /** The newest digest of that reference, if it failed in this container. */
    readonly failed: Digest | undefined;
  })[];
};

/**
 * Inspects the containers, because a list does not show their start times. A removed container proves nothing, and
 * neither does a job that has ended well.
 */
async function readProof(
  { engine }: Pick<ReadOnlyOutside, 'engine'>,
  asked: readonly (Pick<
    CheckedContainer,
    'id' | 'name' | 'image' | 'status' | 'candidate' | 'imageId' | 'digest' | 'latestDigest' | 'failedVersion'
  > & { readonly isUpdated: boolean })[],
  signal: AbortSignal | undefined,
): Promise<EngineProof> {
  const read = await mapConcurrently(asked, 4, async (one): Promise<EngineProof['containers']> => {
    const container = await engine.inspectContainer(one.id, signal);
    if (container === undefined || (!one.isUpdated && hasEndedWell(container))) return [];
    const image = await engine.inspectImage(one.imageId, signal);
    const { status, health, startedAt } = container.state;
    const startedAtMs = Date.parse(startedAt);
    const digests = image === undefined ? [] : digestsOf(image);
    return [
      {
        name: one.name,
        reference: one.image,
        isUpdated: one.isUpdated,
        newest: one.status === 'unknown' ? undefined : (one.candidate ?? one.image),
        digests: [...new Set([...(one.digest === undefined ? [] : [one.digest]), ...digests])],
        isRunning: status === 'running',
        isHealthy: health === 'healthy' || health === 'none',
        startedAtMs: Number.isNaN(startedAtMs) ? undefined : startedAtMs,
        builtAtMs: image?.createdAtMs,
        failed: one.failedVersion === undefined ? undefined : one.latestDigest,
      },
    ];
  });
  const { nowMs } = await engine.info(signal);
  return { nowMs, containers: read.flat() };
}

function hasEndedWell({ state: { status, exitCode } }: Container): boolean {
  return status === 'exited' && exitCode === 0;
}
