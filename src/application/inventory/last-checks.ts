import { addTo, putNewest, defined } from '../../domain/text/plain-data.ts';
import { entryKeyOf, entryKinds, type ContainerOutcome } from '../../domain/run/session.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import { parseDigest, familiarReference, tryParseImageReference } from '../../domain/image/image-reference.ts';
import { isImageId } from '../../domain/check/container-reference.ts';
import type { LastCheck, TrackedContainer } from '../../domain/inventory.ts';
import { failedInAnother } from '../../domain/plan/order.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { versionKinds } from '../../domain/settings/values/versions.ts';
import {
  heldBecause,
  unknownBecause,
  type DecidedCandidate,
  candidateKinds,
  printApproval,
} from '../../domain/decision/decisions.ts';
import { candidateDigest, otherDigest, type CheckedContainer, type UnheldVerdict } from '../check/checked-container.ts';
import { freshReason, stalenesses } from '../../domain/check/verdict.ts';
import { versionChanges } from '../../domain/image/labels.ts';
import { isJsonObject } from '../../domain/text/json.ts';

export type LastChecks = ReturnType<typeof createLastChecks>;

/**
 * Results of the last checks. A result counts while its container runs the checked image. It belongs to a container id,
 * even after a rename. If a container is re-created with the same image and reference, the new container of that name
 * gets the result. The shown reference of a container may change; the reference that it was created from does not.
 * During an update the result from before stays, because the successor is not proven; a container that someone else has
 * re-created with the newest known image is up to date.
 */
export function createLastChecks(
  keep: (changed: readonly StoredCheck[]) => void = () => {},
  settings: Pick<ServiceSettings, 'canary'> = { canary: false },
) {
  const byId = new Map<string, Known>();
  const byName = new Map<string, Known>();
  /** The last record of each name in the file, as text. */
  const inFile = new Map<string, string>();
  /** The own records of each name that the file has not shown yet, oldest first. */
  const onTheWay = new Map<string, readonly StoredCheck[]>();
  /** The runs that update a container of this name. */
  const updating = new Map<string, string>();
  let revision = 0;

  return {
    ...{ of, candidateOf, checkedOf, opensAfter, noteChecked, onEvent, reconsider, restore },
    /** Changes with every change of the results. */
    revision: () => revision,
  };

  function of(container: Shown): LastCheck {
    const { id, image, imageId } = container;
    const same = byId.get(id);
    if (same?.imageId === imageId) return same.check;
    const key = entryKeyOf(container);
    const known = byName.get(key);
    if (known !== undefined && updating.has(key)) return known.check;
    if (known === undefined || !isSameReference(known.image, image, imageId)) return notChecked;
    if (known.imageId === imageId) return known.check;
    const { latestDigest, checkedAtMs } = known.check;
    if (latestDigest === '' || (container.digest !== latestDigest && imageId !== latestDigest)) return notChecked;
    return (known.asNewest ??= { ...notChecked, staleness: 'fresh', reason: freshReason, latestDigest, checkedAtMs });
  }

  /** The results of a container, and of a service, of this name. */
  function allOf(name: string): readonly Known[] {
    return entryKinds.flatMap((kind) => byName.get(entryKeyOf({ name, kind })) ?? []);
  }

  /** The newer version that a container, or else a service, of this name waits for. Undefined: none is known. */
  function candidateOf(name: string): DecidedCandidate | undefined {
    for (const { check, checked } of allOf(name)) {
      const { updateAvailable, latestDigest, candidateDigest: stored = latestDigest } = check;
      const ofEarlierProcess = updateAvailable ? parseDigest(stored) : undefined;
      const digest = checked === undefined ? ofEarlierProcess : candidateDigest(checked);
      if (digest !== undefined) return { digest, tag: tryParseImageReference((checked ?? check).candidate ?? '')?.tag };
    }
    return undefined;
  }

  /** The last result of a container, or else a service, of this name. Undefined: this process has not checked it. */
  function checkedOf(name: string): CheckedContainer | undefined {
    return allOf(name).find(({ checked }) => checked !== undefined)?.checked;
  }

  /** The first window after `ms` that containers wait for, with their names. Undefined: no container waits. */
  function opensAfter(ms: number): { readonly atMs: number; readonly names: readonly string[] } | undefined {
    const waiting = [...byName.values()].flatMap(({ checked }) =>
      checked?.hold === 'window' || checked?.hold === 'wave' ? [checked] : [],
    );
    const times = waiting.flatMap(({ eligibleAtMs = ms }) => (eligibleAtMs > ms ? [eligibleAtMs] : []));
    if (times.length === 0) return undefined;
    const atMs = Math.min(...times);
    return { atMs, names: waiting.filter((one) => one.eligibleAtMs === atMs).map(({ name }) => name) };
  }

  /** `begunAtMs`: when the check listed them. A container whose update or rollback has ended since keeps that result. */
  function noteChecked(containers: readonly CheckedContainer[], atMs: number, begunAtMs = atMs): void {
    set(
      containers.flatMap((checked): readonly NewResult[] => {
        const { id, image, imageId } = checked;
        const key = entryKeyOf(checked);
        const { changedAtMs } = byName.get(key) ?? {};
        if (changedAtMs !== undefined && changedAtMs > begunAtMs && changedAtMs <= atMs) return [];
        return [{ key, ids: [id], known: { image, imageId, check: checkOf(checked, of(checked), atMs), checked } }];
      }),
    );
  }

  /** Each change of a result passes here, so that no restart loses it. */
  function set(results: readonly NewResult[]): void {
    revision += 1;
    for (const { key, ids = [], known } of results) {
      putNewest(byName, key, known, maxRemembered);
      for (const id of ids) putNewest(byId, id, known, maxRemembered);
    }
    const records = results.map(({ key, known }) => storedForm(key, known));
    for (const record of records) {
      const earlier = onTheWay.get(record.key) ?? [];
      putNewest(onTheWay, record.key, [...earlier, record].slice(-maxOnTheWay), maxRemembered);
    }
    keep(records);
  }

  /** Notes updated containers, which run the newest image now, and versions that were rolled back. */
  function onEvent(event: ServiceEvent): void {
    if (event.kind === 'update_started')
      updating.set(entryKeyOf({ name: event.container, kind: event.entryKind }), event.runId);
    if (event.kind === 'update_completed' || event.kind === 'update_failed' || event.kind === 'update_deferred') {
      const { kind, outcome, atMs } = event;
      updating.delete(entryKeyOf(outcome));
      if (kind === 'update_failed' && outcome.isTakenBack) holdRolledBack(outcome, atMs);
      if (kind === 'update_completed' && outcome.outcome === 'updated') noteUpdated(outcome, atMs);
    }
    if (event.kind === 'scan_completed' || event.kind === 'scan_failed')
      for (const [key, runId] of updating) if (runId === event.runId) updating.delete(key);
    // A requested rollback is only recognisable at its end.
    if (event.kind === 'scan_completed')
      for (const outcome of event.session?.containers ?? [])
        if (outcome.outcome === 'went_back') noteReturn(outcome, event.atMs);
  }

  function noteUpdated(outcome: ContainerOutcome, atMs: number): void {
    const { containerId, newImageId: imageId, newDigest: latestDigest } = outcome;
    const key = entryKeyOf(outcome);
    const before = byName.get(key)?.check.latestDigest ?? '';
    const isEarlier = latestDigest !== '' && before !== '' && before !== latestDigest;
    const found = isEarlier ? { ...updatedHalfway, latestDigest: before } : { ...justUpdated, latestDigest };
    // A service keeps its id, and its image need not be on this engine.
    if (imageId === '' && containerId !== undefined) byId.delete(containerId);
    const check = { ...notChecked, ...found, checkedAtMs: atMs };
    set([{ key, known: { image: familiar(outcome.image), imageId, check, changedAtMs: atMs } }]);
  }

  /** The failed version is still the newest one, and the container runs the earlier image. */
  function holdRolledBack({ containerId = '', ...named }: ContainerOutcome, atMs: number): void {
    const key = entryKeyOf(named);
    const known = byName.get(key) ?? byId.get(containerId);
    if (known === undefined) return;
    const { eligibleAtMs: _, ...before } = known.check;
    const check = { ...before, staleness: 'held', ...failedHere, stale: false, updateAvailable: true } as const;
    const checked = known.checked && { checked: { ...heldBy(failedHere, known.checked), eligibleAtMs: undefined } };
    set([{ key, ids: knownIds(containerId), known: { ...known, ...checked, check, changedAtMs: atMs } }]);
    holdElsewhere();
  }

  function knownIds(id: string): readonly string[] {
    return byId.has(id) ? [id] : [];
  }

  /** The next run would not try a failed version in another container either. */
  function holdElsewhere(): void {
    const versions = [...byName].flatMap(([key, { check, checked }]) => {
      const { staleness: status, hold, candidateDigest: digest, latestDigest } = check;
      const isCanary = checked?.isCanary && { isCanary: checked.isCanary };
      const [name = ''] = key.split(' ');
      const digests = { pullDigest: parseDigest(digest ?? latestDigest), latestDigest: parseDigest(latestDigest) };
      return status === undefined ? [] : [{ id: key, name, status, hold, ...isCanary, ...digests }];
    });
    const held = [...failedInAnother(versions, settings)].flatMap(([key, reason]): NewResult[] => {
      const known = byName.get(key);
      if (known?.checked === undefined) return [];
      const checked = heldBy({ hold: 'failed-elsewhere', reason }, known.checked);
      const check = checkOf(checked, known.check, known.check.checkedAtMs);
      return [{ key, ids: knownIds(checked.id), known: { ...known, checked, check } }];
    });
    if (held.length > 0) set(held);
  }

  /** After a rollback, the rolled-back version is the newer one. */
  function noteReturn(outcome: ContainerOutcome, atMs: number): void {
    const { name, kind, image, newImageId: imageId, oldDigest, from } = outcome;
    const key = entryKeyOf({ name, kind });
    const latestDigest = byName.get(key)?.check.latestDigest || oldDigest;
    const newer = from === undefined ? {} : { latestVersion: from };
    const check = { ...notChecked, ...wentBack, ...newer, latestDigest, checkedAtMs: atMs };
    set([{ key, known: { image: familiar(image), imageId, check, changedAtMs: atMs } }]);
    // A kept container comes back with its old id, whose stored result is outdated.
    for (const [id, { checked }] of byId) if (checked?.name === name) byId.delete(id);
  }

  /** Judges again the results that wait for a decision or a time. Returns whether any has changed. */
  function reconsider(again: (checked: CheckedContainer) => CheckedContainer): boolean {
    const idsOf = new Map<string, string[]>();
    for (const [id, { checked }] of byId) if (checked !== undefined) addTo(idsOf, entryKeyOf(checked), id);
    const changed = [...byName].flatMap(([key, known]): NewResult[] => {
      if (known.checked?.unrestrained === undefined && known.checked?.notesAt === undefined) return [];
      const checked = again(known.checked);
      const check = checkOf(checked, known.check, known.check.checkedAtMs);
      if (JSON.stringify(check) === JSON.stringify(known.check)) return [];
      return [{ key, ids: idsOf.get(key) ?? [], known: { ...known, checked, check } }];
    });
    if (changed.length > 0) set(changed);
    return changed.length > 0;
  }

  /**
   * Takes the results in the file that another process has written since the last call, unless there are newer ones.
   * Returns whether it has taken any.
   */
  function restore(stored: readonly StoredCheck[]): boolean {
    const taken = new Set<string>();
    let hasFailed = false;
    for (const record of compactChecks(stored)) {
      const { key, ...known } = record;
      const text = JSON.stringify(record);
      if (inFile.get(key) === text) continue;
      putNewest(inFile, key, text, maxRemembered);
      // An earlier own result must not come back while the file waits for the later one.
      const written = onTheWay.get(key) ?? [];
      const at = written.findIndex((one) => JSON.stringify(readStoredCheck(JSON.parse(JSON.stringify(one)))) === text);
      if (at !== -1) onTheWay.set(key, written.slice(at + 1));
      if (at !== -1 || (byName.get(key)?.check.checkedAtMs ?? 0) > (known.check.checkedAtMs ?? 0)) continue;
      putNewest(byName, key, { ...known, ...defined({ checked: checkedFrom(record) }) }, maxRemembered);
      taken.add(key);
      hasFailed ||= known.check.hold === 'failed';
    }
    if (taken.size === 0) return false;
    revision += 1;
    for (const [id, { checked }] of byId) if (checked !== undefined && taken.has(entryKeyOf(checked))) byId.delete(id);
    if (hasFailed) holdElsewhere();
    return true;
  }
}

type Shown = Pick<TrackedContainer, 'id' | 'name' | 'image' | 'imageId' | 'kind'> & {
  readonly digest?: string | undefined;
};

type Known = {
  readonly image: string;
  readonly imageId: string;
  readonly check: LastCheck;
  /** Absent after an update. */
  readonly checked?: CheckedContainer;
  /** When an update or a rollback gave this result. */
  readonly changedAtMs?: number;
  /** The result for a container that runs the newest image, made once so that it stays the same object. */
  asNewest?: LastCheck;
};

/** A result with the ids of the containers that it is about. */
type NewResult = { readonly key: string; readonly ids?: readonly string[]; readonly known: Known };

/** More containers than an engine runs. Beyond it, the result of the longest unchecked container is dropped. */
const maxRemembered = 10_000;

/** Of one container. Each reading of the file takes away what it shows. */
const maxOnTheWay = 8;

function familiar(text: string): string {
  const reference = tryParseImageReference(text);
  return reference === undefined ? text : familiarReference(reference);
}

/** For a moved tag the engine lists a bare image id until an inspection has read the reference. */
function isSameReference(one: string, other: string, imageId: string): boolean {
  return one === other || isImageId(one, imageId) || isImageId(other, imageId);
}

export const notChecked: LastCheck = {
  staleness: undefined,
  stale: false,
  updateAvailable: false,
  latestDigest: '',
  reason: '',
  checkedAtMs: undefined,
};

const justUpdated = { staleness: 'fresh', reason: 'Was updated to the newest image of its tag' } as const;

/** The container was updated to an older version of a moving tag, because the newest is too young. */
const updatedHalfway = {
  staleness: 'held',
  hold: 'cooldown',
  reason: 'Was updated to an earlier image of its tag, because the newest is too young for the cooldown',
  updateAvailable: true,
} as const;

const failedHere = {
  hold: 'failed',
  reason:
    'The newer version failed here and was rolled back: Upkeep will not retry it until a newer image is published; --retry-failed retries it now',
} as const;

const wentBack = {
  staleness: 'held',
  hold: 'went-back',
  reason:
    'A person went back from the newer version. Upkeep will not apply it until a newer image is published; --retry-failed applies it now',
  updateAvailable: true,
} as const;

/** The same container, whose newer version neither a decision nor a time releases. */
function heldBy(why: Pick<CheckedContainer, 'hold' | 'reason'>, checked: CheckedContainer): CheckedContainer {
  const { unrestrained: _, ...judged } = checked;
  return { ...judged, status: 'held', ...why };
}

/** Keeps the last known verdict if a check has failed. */
function checkOf(checked: CheckedContainer, before: LastCheck, checkedAtMs: number | undefined): LastCheck {
  const { status: staleness, reason, updateAvailable, latestDigest = '', hold, retryAtMs } = checked;
  const why = defined({ hold, retryAtMs });
  if (staleness === 'unknown') {
    const { hold: _hold, eligibleAtMs: _eligibleAtMs, retryAtMs: _retryAtMs, ...known } = before;
    return { ...known, staleness, reason, stale: false, checkedAtMs, ...why };
  }
  const { eligibleAtMs, latestVersion, candidate, candidateKind, compose, change } = checked;
  const { releasedAtMs, downloadBytes, sourceUrl, notes, holdBecause } = checked;
  return {
    ...{ staleness, reason, stale: staleness === 'stale', updateAvailable, latestDigest, checkedAtMs, ...why },
    ...defined({ candidateDigest: otherDigest(checked), eligibleAtMs, latestVersion, candidate, candidateKind }),
    ...defined({ compose, change, releasedAtMs, downloadBytes, sourceUrl, notes, holdBecause }),
  };
}

/** The result of the last check of a container, in its stored form. It counts while the container runs the image. */
export type StoredCheck = {
  /** By `entryKeyOf`. */
  readonly key: string;
  /** In short form. */
  readonly image: string;
  readonly imageId: string;
  readonly check: LastCheck;
  /** The verdict without decisions and windows, with these as texts. */
  readonly unheld?: Omit<UnheldVerdict, 'approval' | 'window'> & {
    readonly approval: string;
    readonly window?: string;
  };
};

function storedForm(key: string, { image, imageId, check, checked }: Known): StoredCheck {
  const { unrestrained } = checked ?? {};
  if (unrestrained === undefined) return { key, image, imageId, check };
  const { approval, window, ...verdict } = unrestrained;
  const opens = window && { window: window.kind === 'always' ? window.kind : window.text };
  return { key, image, imageId, check, unheld: { ...verdict, approval: printApproval(approval), ...opens } };
}

/**
 * The part of a result of another process that a decision or the time can change. Undefined: it has none. Release notes
 * are read by the next check.
 */
function checkedFrom({ key, image, imageId, check, unheld }: StoredCheck): CheckedContainer | undefined {
  const approval = versionKinds.approvalOfLabel.parse(unheld?.approval ?? '');
  const { staleness: status, candidateDigest: digest, latestDigest, eligibleAtMs, ...others } = check;
  const { checkedAtMs: _, stale: __, ...shown } = others;
  if (unheld === undefined || status === undefined || approval === undefined) return undefined;
  if (approval.breaking || approval.unread) return undefined;
  const [name = '', kind] = key.split(' ');
  const window = versionKinds.windowOfLabel.parse(unheld.window ?? '');
  return {
    ...shown,
    ...{ id: '', name, image, reference: image, successorReference: image, imageId, status, eligibleAtMs },
    ...(kind === 'service' && { kind }),
    ...{ digest: undefined, latestImageId: undefined, error: undefined, failedVersion: undefined },
    latestDigest: parseDigest(latestDigest),
    pullDigest: parseDigest(digest ?? latestDigest),
    unrestrained: { ...unheld, approval, window },
  };
}

/** Reads a record of the file. Undefined for any other value. */
export function readStoredCheck(value: unknown): StoredCheck | undefined {
  if (!isJsonObject(value)) return undefined;
  const { key, image, imageId, check } = value;
  if (!isText(key) || !isText(image) || !isText(imageId) || !isJsonObject(check)) return undefined;
  const { staleness, stale, updateAvailable, reason, latestDigest, checkedAtMs } = check;
  if (!isOneOf(stalenesses, staleness) || typeof stale !== 'boolean' || typeof updateAvailable !== 'boolean')
    return undefined;
  if (!isText(reason) || !isText(latestDigest) || !isTime(checkedAtMs)) return undefined;
  const { candidateKind, change, hold, holdBecause } = check;
  const read: LastCheck = {
    ...{ ...notChecked, staleness, stale, updateAvailable, reason, latestDigest, checkedAtMs },
    ...only(check, ['candidateDigest', 'candidate', 'latestVersion', 'sourceUrl'], isText),
    ...only(check, ['eligibleAtMs', 'retryAtMs', 'releasedAtMs', 'downloadBytes'], isTime),
    ...(isOneOf(candidateKinds, candidateKind) && { candidateKind }),
    ...(isOneOf(versionChanges, change) && { change }),
    ...(isOneOf(holds, hold) && { hold }),
    ...(isOneOf(['breaking', 'unread'], holdBecause) && { holdBecause }),
  };
  const unheld = readUnheld(value['unheld']);
  return { key, image, imageId, check: read, ...(unheld && { unheld }) };
}

const holds = [...heldBecause, ...unknownBecause];

function readUnheld(value: unknown): StoredCheck['unheld'] {
  if (!isJsonObject(value)) return undefined;
  const { status, reason, approval, window, hold, eligibleAtMs } = value;
  if (!isOneOf(stalenesses, status) || !isText(reason) || !isText(approval)) return undefined;
  return {
    ...{ status, reason, approval, eligibleAtMs: isTime(eligibleAtMs) ? eligibleAtMs : undefined },
    ...(isText(window) && { window }),
    ...(isOneOf(holds, hold) && { hold }),
  };
}

/** The last record of each container, for the 10,000 that were checked last, oldest first. */
export function compactChecks(records: readonly StoredCheck[]): readonly StoredCheck[] {
  const checks = new Map<string, StoredCheck>();
  for (const record of records) putNewest(checks, record.key, record, maxRemembered);
  return [...checks.values()];
}

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
