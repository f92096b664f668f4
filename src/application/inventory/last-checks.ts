import { putNewest, defined } from '../../domain/text/plain-data.ts';
import { entryKeyOf, entryKinds, type ContainerOutcome } from '../../domain/run/session.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import {
  parseDigest,
  familiarReference,
  tryParseImageReference,
  type Digest,
} from '../../domain/image/image-reference.ts';
import { isImageId } from '../../domain/check/container-reference.ts';
import type { LastCheck, TrackedContainer } from '../../domain/inventory.ts';
import { candidateKinds } from '../../domain/image/tag-policy.ts';
import { heldBecause, unknownBecause, type DecidedCandidate } from '../../domain/decision/decisions.ts';
import { candidateDigest, otherDigest, type CheckedContainer } from '../check/checked-container.ts';
import { freshReason, stalenesses } from '../../domain/check/verdict.ts';
import { versionChanges } from '../../domain/image/image-labels.ts';
import { isJsonObject } from '../../domain/text/json.ts';

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
  /** The last result of a container, or else a service, of this name. Undefined: this process has not checked it. */
  readonly checkedOf: (name: string) => CheckedContainer | undefined;
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
      putNewest(map, key, { ...known, ...checked, check: { ...check, ...rolledBack } }, maxRemembered);
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
    putNewest(byName, key, { image: familiar(image), imageId, check }, maxRemembered);
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
      for (const { key, ...known } of stored) if (!byName.has(key)) putNewest(byName, key, known, maxRemembered);
    },
    noteChecked(containers, atMs) {
      revision += 1;
      for (const container of containers) {
        const { id, image, imageId } = container;
        const known = { image, imageId, check: checkOf(container, of(container), atMs), checked: container };
        putNewest(byId, id, known, maxRemembered);
        putNewest(byName, entryKeyOf(container), known, maxRemembered);
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
      putNewest(byName, key, { image, imageId, check }, maxRemembered);
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
    checkedOf: (name) =>
      entryKinds
        .map((kind) => byName.get(entryKeyOf({ name, kind }))?.checked)
        .find((checked) => checked !== undefined),
    reconsider(again) {
      revision += 1;
      for (const map of [byId, byName])
        for (const [key, known] of map) {
          const { checked, check } = known;
          if (checked?.unrestrained === undefined && checked?.notesAt === undefined) continue;
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
const maxRemembered = 10_000;

export const notChecked: LastCheck = {
  staleness: undefined,
  stale: false,
  updateAvailable: false,
  latestDigest: '',
  reason: '',
  checkedAtMs: undefined,
};

const justUpdated = { staleness: 'fresh', reason: 'Was updated to the newest image of its tag' } as const;

/** The last result of a container that runs the newest image of that check now. */
function asNewest({ latestDigest, checkedAtMs }: LastCheck): LastCheck {
  return { ...notChecked, staleness: 'fresh', reason: freshReason, latestDigest, checkedAtMs };
}

function withRolledBack({ unrestrained: _, ...checked }: CheckedContainer): CheckedContainer {
  return { ...checked, ...heldAsFailed, eligibleAtMs: undefined };
}

const heldAsFailed = {
  status: 'held',
  hold: 'failed',
  reason:
    'The newer version failed here and was rolled back: Upkeep will not retry it until a newer image is published; --retry-failed retries it now',
} as const;

const { status: staleness, ...failed } = heldAsFailed;

const rolledBack = { staleness, ...failed, stale: false, updateAvailable: true } as const;

const wentBack = {
  staleness: 'held',
  hold: 'went-back',
  reason:
    'Somebody went back from the newer version: Upkeep will not apply it until a newer image is published; --retry-failed applies it now',
  stale: false,
  updateAvailable: true,
} as const;

/** The container was updated to an older version of a moving tag, because the newest is too young. */
const updatedHalfway = {
  staleness: 'held',
  hold: 'cooldown',
  reason: 'Was updated to an earlier image of its tag, because the newest is too young for the cooldown',
  updateAvailable: true,
} as const;

/** Keeps the last known verdict if a check has failed. */
function checkOf(container: CheckedContainer, before: LastCheck, checkedAtMs: number | undefined): LastCheck {
  const { status: staleness, reason, updateAvailable, latestDigest = '', hold, retryAtMs } = container;
  const why = defined({ hold, retryAtMs });
  if (staleness === 'unknown') {
    const { hold: _hold, eligibleAtMs: _eligibleAtMs, retryAtMs: _retryAtMs, ...known } = before;
    return { ...known, staleness, reason, stale: false, checkedAtMs, ...why };
  }
  const stale = staleness === 'stale';
  return { staleness, reason, stale, updateAvailable, latestDigest, checkedAtMs, ...why, ...newerOf(container) };
}

function newerOf(container: CheckedContainer): Partial<LastCheck> {
  const { compose } = container;
  const { candidate, candidateKind, eligibleAtMs, latestVersion, change, releasedAtMs, downloadBytes, sourceUrl } =
    container;
  const { notes, holdBecause } = container;
  return defined({
    candidateDigest: otherDigest(container),
    eligibleAtMs,
    latestVersion,
    candidate,
    candidateKind,
    compose,
    change,
    releasedAtMs,
    downloadBytes,
    sourceUrl,
    notes,
    holdBecause,
  });
}

/** The result of the last check of a container, in its stored form. It counts while the container runs the image. */
export type StoredCheck = {
  /** By `entryKeyOf`. */
  readonly key: string;
  /** In short form. */
  readonly image: string;
  readonly imageId: string;
  readonly check: LastCheck;
};

/** Reads a record of the file. Undefined for any other value. */
export function readStoredCheck(value: unknown): StoredCheck | undefined {
  if (!isJsonObject(value)) return undefined;
  const { key, image, imageId, check } = value;
  if (!isText(key) || !isText(image) || !isText(imageId) || !isJsonObject(check)) return undefined;
  const { staleness, stale, updateAvailable, reason, latestDigest, checkedAtMs } = check;
  const isVerdict =
    isOneOf(stalenesses, staleness) && typeof stale === 'boolean' && typeof updateAvailable === 'boolean';
  if (!isVerdict || !isText(reason) || !isText(latestDigest) || !isTime(checkedAtMs)) return undefined;
  const { candidateKind, change, hold } = check;
  const own = { staleness, stale, updateAvailable, reason, latestDigest, checkedAtMs };
  return {
    key,
    image,
    imageId,
    check: {
      ...notChecked,
      ...own,
      ...only(check, ['candidateDigest', 'candidate', 'latestVersion', 'sourceUrl'], isText),
      ...only(check, ['eligibleAtMs', 'retryAtMs', 'releasedAtMs', 'downloadBytes'], isTime),
      ...(isOneOf(candidateKinds, candidateKind) && { candidateKind }),
      ...(isOneOf(versionChanges, change) && { change }),
      ...(isOneOf([...heldBecause, ...unknownBecause], hold) && { hold }),
    },
  };
}

/** The last record of each container, for the 10,000 that were checked last, oldest first. */
export function compactChecks(records: readonly StoredCheck[]): readonly StoredCheck[] {
  const checks = new Map<string, StoredCheck>();
  for (const record of records) putNewest(checks, record.key, record, maxStored);
  return [...checks.values()];
}

const maxStored = 10_000;
const maxText = 5000;

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= maxText;
}

/** Milliseconds, or a number of bytes. */
function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function isOneOf<const Words extends readonly string[]>(words: Words, value: unknown): value is Words[number] {
  return words.some((word) => word === value);
}

/** The named values that are of their kind. */
function only<Name extends string, Value>(
  object: Readonly<Record<string, unknown>>,
  names: readonly Name[],
  isKind: (value: unknown) => value is Value,
): Partial<Record<Name, Value>> {
  const found: Partial<Record<Name, Value>> = {};
  for (const name of names) {
    const value = object[name];
    if (isKind(value)) found[name] = value;
  }
  return found;
}
