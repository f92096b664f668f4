import { isJsonObject } from '../text/json.ts';
import type { ComposeProject } from './compose-project.ts';
import { isSame } from './compose-edit.ts';

/**
 * One step of keeping a compose file in step with a move to another tag, as it is stored. The last step of an id counts:
 * `begun` before the update, `writing` right before a file is written, then `written`, or `dropped` if nothing is to be
 * written any more.
 */
export type ComposeRecord = {
  readonly id: string;
  readonly step: 'begun' | 'writing' | 'written' | 'dropped';
  readonly atMs: number;
  /** The process that began it: see `Instance`. */
  readonly owner: string;
  readonly container: string;
  readonly project: ComposeProject;
  readonly service: string;
  /** The references before and after the move, as the container has them. */
  readonly from: string;
  readonly to: string;
  /** A rollback takes the change of this record back. */
  readonly takesBack?: string;
  /** From `writing` on. */
  readonly edit?: ComposeEdit;
};

/** A change of a file: enough to tell afterwards whether it was made. */
export type ComposeEdit = {
  /** The path without links, where this process sees it. */
  readonly path: string;
  /** SHA-256 of the whole text, in hex. */
  readonly before: string;
  readonly after: string;
  /** The tags. */
  readonly from: string;
  readonly to: string;
};

/** The records that are neither written nor dropped, and the last changes that a rollback may take back. */
export function latestRecords(records: readonly ComposeRecord[]): readonly ComposeRecord[] {
  return [...new Map(records.map((record) => [record.id, record])).values()];
}

export function isOpen({ step }: ComposeRecord): boolean {
  return step === 'begun' || step === 'writing';
}

/** Open records, and for each container the last written one. */
export function compactComposeRecords(records: readonly ComposeRecord[]): readonly ComposeRecord[] {
  const latest = latestRecords(records);
  const written = new Map(latest.filter(({ step }) => step === 'written').map((one) => [one.container, one]));
  return latest.filter((one) => isOpen(one) || written.get(one.container) === one).slice(-maxRecords);
}

/** More than one engine has containers of compose. */
const maxRecords = 1000;

/**
 * The change that a rollback of a container between two references takes back: the last one of its file, if Upkeep has
 * written it and it has not been taken back.
 */
export function changeToTakeBack(
  records: readonly ComposeRecord[],
  { container, from, to }: Pick<ComposeRecord, 'container' | 'from' | 'to'>,
): ComposeRecord | undefined {
  const last = latestRecords(records).findLast((one) => one.container === container && one.step === 'written');
  const isReverse =
    last?.takesBack === undefined && last !== undefined && isSame(last.from, to) && isSame(last.to, from);
  return isReverse ? last : undefined;
}

/**
 * The task that an open record leaves, by the reference that the container of its name has now; undefined if there is none.
 * `write`: the file gets the tag of `to`. `restore`: an interrupted write is taken back. `nothing`: it is over.
 */
export function settlingOf(
  { step, to }: Pick<ComposeRecord, 'step' | 'to'>,
  reference: string | undefined,
): 'write' | 'restore' | 'nothing' {
  if (reference !== undefined && isSame(reference, to)) return 'write';
  return step === 'writing' ? 'restore' : 'nothing';
}

/** Undefined for anything else than a record. */
export function readComposeRecord(value: unknown): ComposeRecord | undefined {
  if (!isJsonObject(value)) return undefined;
  const { id, step, atMs, owner, container, project, service, from, to, takesBack, edit } = value;
  const texts = [id, owner, container, service, from, to];
  const isStep = step === 'begun' || step === 'writing' || step === 'written' || step === 'dropped';
  if (!texts.every((text) => typeof text === 'string') || !isStep || typeof atMs !== 'number') return undefined;
  if (takesBack !== undefined && typeof takesBack !== 'string') return undefined;
  if (!isProject(project) || (edit !== undefined && !isEdit(edit))) return undefined;
  // Each field was checked.
  return value as ComposeRecord;
}

function isProject(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { name, folder, files, envFiles } = value;
  return (
    typeof name === 'string' &&
    typeof folder === 'string' &&
    isTexts(files) &&
    (envFiles === undefined || isTexts(envFiles))
  );
}

function isEdit(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { path, before, after, from, to } = value;
  return [path, before, after, from, to].every((text) => typeof text === 'string' && text !== '');
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

/**
 * Whether the replacement of `before` with `after` in place, or its way back, was interrupted: each byte is one of the
 * two that may stand there. A shorter text is filled up with line ends at first.
 */
export function isTorn(bytes: Uint8Array, before: Uint8Array, after: Uint8Array): boolean {
  const { length } = bytes;
  if (length < Math.min(before.length, after.length) || length > Math.max(before.length, after.length)) return false;
  return bytes.every((byte, index) => byte === before[index] || byte === (after[index] ?? lineEnd));
}

const lineEnd = 10;
