import type { WatchedContainer } from '../../domain/check/selection.ts';
import type { Hold } from '../../domain/decision/decisions.ts';
import { isContainer } from '../../domain/run/session.ts';
import { effectiveSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { parseTransactionName } from '../../domain/transaction/transaction-names.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { listAll } from '../engine/list-all.ts';
import { type AskedContainer, type EngineProof, readProof } from '../engine/proof.ts';
import { createJudge, type HoldParts } from './check.ts';
import { imageIn } from './checked-container.ts';
import type { JudgeOrder } from './judge-order.ts';
import type { PartOfRun } from './part-of-run.ts';
import { createSelectContainers } from './select/select-containers.ts';

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
    const stopped = selected.watched.flatMap((watched): AskedContainer[] => {
      const { id, name, image, imageId } = watched.container;
      const { monitorOnly, noPull } = effectiveSettings(settings, watched.wishes);
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
