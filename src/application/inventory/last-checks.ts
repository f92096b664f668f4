import { putNewest } from '../../domain/text/plain-data.ts';
import { type ContainerOutcome, entryKeyOf, entryKinds } from '../../domain/run/session.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import {
  parseDigest,
  familiarReference,
  tryParseImageReference,
  type Digest,
} from '../../domain/image/image-reference.ts';
import { isImageId } from '../../domain/check/container-reference.ts';
import type { LastCheck, TrackedContainer } from '../../domain/inventory.ts';
import type { DecidedCandidate } from '../../domain/decision/decisions.ts';
import { candidateDigest, type CheckedContainer } from '../check/checked-container.ts';
import {
  asNewest,
  checkOf,
  justUpdated,
  notChecked,
  rolledBack,
  updatedHalfway,
  wentBack,
  withRolledBack,
} from './last-check-of.ts';
import type { StoredCheck } from './stored-checks.ts';

/** Results of the last checks. A result counts while its container runs the checked image. */
export type LastChecks = {
  /** Takes results of an earlier process, unless there are newer ones. */
  readonly restore: (stored: readonly StoredCheck[]) => void;
  readonly noteChecked: (containers: readonly CheckedContainer[], atMs: number) => void;
  /** Notes updated containers, which run the newest image now, and versions that were rolled back. */
  readonly hear: (event: ServiceEvent) => void;
  readonly of: (
    container: Pick<TrackedContainer, 'id' | 'name' | 'image' | 'imageId' | 'kind'> & {
      readonly digest?: string | undefined;
    },
  ) => LastCheck;
  /** The newer version that a container, or else a service, of this name waits for. Undefined: none is known. */
  readonly candidateOf: (name: string) => DecidedCandidate | undefined;
  /** Judges again the results that wait for a decision or a time. */
  readonly reconsider: (again: (checked: CheckedContainer) => CheckedContainer) => void;
  /** The first window after `ms` that containers wait for, with their names. Undefined: no container waits. */
  readonly opensAfter: (ms: number) => { readonly atMs: number; readonly names: readonly string[] } | undefined;
  /** Changes with every change of the results. */
  readonly revision: () => number;
};

/**
 * A result belongs to a container id, even after a rename. If a container is re-created with the same image and
 * reference, the new container of that name gets the result. The shown reference of a container may change; the
 * reference that it was created from does not. During an update the result from before stays, because the successor is
 * not proven; a container that somebody else has re-created with the newest known image is up to date.
 */
export function createLastChecks(keep: (changed: readonly StoredCheck[]) => void = () => {}): LastChecks {
  const byId = new Map<string, Known>();
  const byName = new Map<string, Known>();
  /** The runs that update a container of this name. */
  const updating = new Map<string, string>();
  let revision = 0;

  const of: LastChecks['of'] = ({ id, image, imageId, ...named }) => {
    const same = byId.get(id);
    if (same?.imageId === imageId) return same.check;
    const key = entryKeyOf(named);
    const known = byName.get(key);
    if (known !== undefined && updating.has(key)) return known.check;
    if (known === undefined || !isSameReference(known.image, image, imageId)) return notChecked;
    if (known.imageId === imageId) return known.check;
    const { latestDigest } = known.check;
    if (latestDigest === '' || (named.digest !== latestDigest && imageId !== latestDigest)) return notChecked;
    return (known.asNewest ??= asNewest(known.check));
  };

  function noteUpdating(event: ServiceEvent): void {
    if (event.kind === 'update_started')
      updating.set(entryKeyOf({ name: event.container, kind: event.entryKind }), event.runId);
    else if (event.kind === 'update_completed' || event.kind === 'update_failed' || event.kind === 'update_deferred')
      updating.delete(entryKeyOf(event.outcome));
    else if (event.kind === 'scan_completed' || event.kind === 'scan_failed')
      for (const [key, runId] of updating) if (runId === event.runId) updating.delete(key);
  }

  /** The failed version is still the newest one, and the container runs the earlier image. */
  function holdRolledBack({ containerId = '', ...named }: ContainerOutcome): void {
    revision += 1;
    for (const [map, key] of [
      [byName, entryKeyOf(named)],
      [byId, containerId],
    ] as const) {
      const known = map.get(key);
      if (known === undefined) continue;
      const { eligibleAtMs: _, ...check } = known.check;
      const checked = known.checked && { checked: withRolledBack(known.checked) };
      putNewest(map, key, { ...known, ...checked, check: { ...check, ...rolledBack } }, mostRemembered);
    }
    keepNow([entryKeyOf(named)]);
  }

  /** After a rollback, the rolled-back version is the newer one. */
  function noteReturn(
    { name, kind, image, newImageId: imageId, oldDigest, from }: ContainerOutcome,
    atMs: number,
  ): void {
    revision += 1;
    const key = entryKeyOf({ name, kind });
    const latestDigest = byName.get(key)?.check.latestDigest || oldDigest;
    const newer = from === undefined ? {} : { latestVersion: from };
    const check = { ...notChecked, ...wentBack, ...newer, latestDigest, checkedAtMs: atMs };
    putNewest(byName, key, { image: familiar(image), imageId, check }, mostRemembered);
    keepNow([key]);
    // A kept container comes back with its old id, whose stored result is outdated.
    for (const [id, { checked }] of byId) if (checked?.name === name) byId.delete(id);
  }

  function keepNow(keys: readonly string[]): void {
    keep(
      keys.flatMap((key) => {
        const known = byName.get(key);
        return known === undefined ? [] : [{ key, image: known.image, imageId: known.imageId, check: known.check }];
      }),
    );
  }

  return {
    restore(stored) {
      revision += 1;
      for (const { key, ...known } of stored) if (!byName.has(key)) putNewest(byName, key, known, mostRemembered);
    },
    noteChecked(containers, atMs) {
      revision += 1;
      for (const container of containers) {
        const { id, image, imageId } = container;
        const known = { image, imageId, check: checkOf(container, of(container), atMs), checked: container };
        putNewest(byId, id, known, mostRemembered);
        putNewest(byName, entryKeyOf(container), known, mostRemembered);
      }
      keepNow(containers.map(entryKeyOf));
    },
    hear(event) {
      noteUpdating(event);
      if (event.kind === 'update_failed' && event.outcome.isTakenBack) return holdRolledBack(event.outcome);
      // A requested rollback is only recognisable at its end.
      if (event.kind === 'scan_completed')
        for (const outcome of event.session?.containers ?? [])
          if (outcome.outcome === 'went_back') noteReturn(outcome, event.atMs);
      if (event.kind !== 'update_completed' || event.outcome.outcome !== 'updated') return;
      const { image: text, newImageId: imageId, newDigest: latestDigest } = event.outcome;
      const key = entryKeyOf(event.outcome);
      const image = familiar(text);
      revision += 1;
      const before = byName.get(key)?.check.latestDigest ?? '';
      const isEarlier = latestDigest !== '' && before !== '' && before !== latestDigest;
      const found = isEarlier ? { ...updatedHalfway, latestDigest: before } : { ...justUpdated, latestDigest };
      const { containerId } = event.outcome;
      // A service keeps its id, and its image need not be on this engine.
      if (imageId === '' && containerId !== undefined) byId.delete(containerId);
      const check = { ...notChecked, ...found, checkedAtMs: event.atMs };
      putNewest(byName, key, { image, imageId, check }, mostRemembered);
      keepNow([key]);
    },
    of,
    candidateOf(name) {
      for (const kind of entryKinds) {
        const known = byName.get(entryKeyOf({ name, kind }));
        const checked = known?.checked;
        const digest = checked === undefined ? storedCandidate(known?.check) : candidateDigest(checked);
        if (digest !== undefined)
          return { digest, tag: tryParseImageReference((checked ?? known?.check)?.candidate ?? '')?.tag };
      }
      return undefined;
    },
    reconsider(again) {
      revision += 1;
      for (const map of [byId, byName])
        for (const [key, known] of map) {
          const { checked, check } = known;
          if (checked?.unrestrained === undefined) continue;
          const now = again(checked);
          map.set(key, { ...known, checked: now, check: checkOf(now, check, check.checkedAtMs) });
        }
    },
    opensAfter(ms) {
      const waiting = [...byName.values()].flatMap(({ checked }) =>
        checked?.hold === 'window' || checked?.hold === 'wave' ? [checked] : [],
      );
      const times = waiting.flatMap(({ eligibleAtMs = ms }) => (eligibleAtMs > ms ? [eligibleAtMs] : []));
      if (times.length === 0) return undefined;
      const atMs = Math.min(...times);
      return { atMs, names: waiting.filter((one) => one.eligibleAtMs === atMs).map(({ name }) => name) };
    },
    revision: () => revision,
  };
}

/** The newer version of a result of an earlier process. */
function storedCandidate(check: LastCheck | undefined): Digest | undefined {
  if (check?.updateAvailable !== true) return undefined;
  return parseDigest(check.candidateDigest ?? check.latestDigest);
}

function familiar(text: string): string {
  const reference = tryParseImageReference(text);
  return reference === undefined ? text : familiarReference(reference);
}

/** For a moved tag the engine lists a bare image id until an inspection has read the reference. */
function isSameReference(one: string, other: string, imageId: string): boolean {
  return one === other || isImageId(one, imageId) || isImageId(other, imageId);
}

type Known = {
  readonly image: string;
  readonly imageId: string;
  readonly check: LastCheck;
  /** Absent after an update. */
  readonly checked?: CheckedContainer;
  /** The result for a container that runs the newest image, made once so that it stays the same object. */
  asNewest?: LastCheck;
};

/** More containers than an engine runs. Beyond it, the result of the longest unchecked container is dropped. */
const mostRemembered = 10_000;
