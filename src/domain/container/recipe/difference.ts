import { canonical, sameToEngine } from '../../text/json.ts';
import type { Container, Image } from '../container.ts';
import { printable } from '../../text/printable.ts';

export type Difference = {
  /** A path in the inspection, such as `HostConfig.Memory`; safe to print. */
  readonly field: string;
  /** At most 120 characters, safe to print. For a field that may hold a secret it says only whether it is set. */
  readonly before: string;
  readonly after: string;
};

/** A container and its successor. */
export type Pair = {
  readonly before: Container;
  readonly after: Container;
  readonly oldImage: Image;
  readonly newImage: Image;
  /** The reference that the successor was to be created from; default: the predecessor's. */
  readonly reference?: string;
  /** The same values as in the recipe's request. Fields in `leftOut` are not compared. */
  readonly replacedIds: ReadonlyMap<string, string>;
  readonly freshVolumes?: boolean;
  readonly leftOut?: ReadonlySet<string>;
  readonly composeImageId?: string | undefined;
};

/** Empty when both values mean the same to the engine. */
export function compare(field: string, before: unknown, after: unknown): readonly Difference[] {
  return sameToEngine(before, after) ? [] : [different(field, before, after)];
}

/** For a field in which 0 or false differs from an absent value. */
export function compareExactly(field: string, before: unknown, after: unknown): readonly Difference[] {
  return JSON.stringify(before ?? null) === JSON.stringify(after ?? null) ? [] : [different(field, before, after)];
}

/** Like `compare()`, but the values are never shown. */
export function compareSecret(field: string, before: unknown, after: unknown): readonly Difference[] {
  return sameToEngine(before, after) ? [] : [secretlyDifferent(field, before, after)];
}

export function secretlyDifferent(field: string, before: unknown, after: unknown): Difference {
  const wasSet = canonical(before) !== '';
  return {
    field: printable(field, maxTextLength),
    before: wasSet ? 'set' : 'not set',
    after: canonical(after) === '' ? 'not set' : wasSet ? 'set to something else' : 'set',
  };
}

/** The own fields of all records, each once. */
export function allKeys(...records: readonly (object | null | undefined)[]): readonly string[] {
  return [...new Set(records.flatMap((record) => Object.keys(record ?? {})))];
}

/** Only own properties, because labels and variables may have the name of a prototype's property. */
export function ownValue<Value>(
  record: Readonly<Record<string, Value>> | null | undefined,
  key: string,
): Value | undefined {
  return record && Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Options of log and volume drivers may contain passwords, so an object is only reported as different. */
function different(field: string, before: unknown, after: unknown): Difference {
  if (!isShowable(before) || !isShowable(after)) return secretlyDifferent(field, before, after);
  return { field: printable(field, maxTextLength), before: shown(before), after: shown(after) };
}

const maxTextLength = 120;

function isShowable(value: unknown): boolean {
  return Array.isArray(value) ? value.every(isShowable) : typeof value !== 'object' || value === null;
}

function shown(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'not set';
  return printable(typeof value === 'string' ? value : JSON.stringify(value), maxTextLength);
}
