import { candidateKinds, heldBecause, unknownBecause } from '../../domain/decision/decisions.ts';
import { stalenesses } from '../../domain/check/verdict.ts';
import { versionChanges } from '../../domain/image/image-labels.ts';
import type { LastCheck } from '../../domain/inventory.ts';
import { isJsonObject } from '../../domain/text/json.ts';
import { putNewest } from '../../domain/text/plain-data.ts';
import { notChecked } from './last-check-of.ts';

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
