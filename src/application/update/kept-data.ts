import { isFailure } from '../../domain/outside/engine.ts';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import type { ContainerSummary, Volume } from '../../domain/container/container.ts';
import { journalPrefix, ownPrefix } from '../../domain/image/labels.ts';
import type { Outside, ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { formatBytes } from '../../domain/text/plain-data.ts';
import { quoted } from '../../domain/text/printable.ts';
import { printTime } from '../../domain/text/duration.ts';
import { readLabels, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { helperMarksOf, parseTransactionName, transactionMarksOf } from '../../domain/transaction/transaction-names.ts';
import type { RollbackOptions } from '../../domain/run/session.ts';
import { copyLabels, dataOfLabel, ownerOfCopy } from '../../domain/transaction/data-helper.ts';
import { maxKeepMs } from '../../domain/settings/values/label-values.ts';

/** A copy of a container's data by an update: a volume of the engine, with plain files. */
export type KeptCopy = {
  readonly container: string;
  /** Present with several engines. */
  readonly engine?: string;
  readonly volume: string;
  /** The hash of the id of the update, from the name of the volume. */
  readonly transactionKey: string;
  /** Milliseconds since the epoch, by the engine's clock. */
  readonly takenAtMs: number;
  /** Absent: its update was not to keep it. It is there until the update ends, or until a person removes it. */
  readonly keptUntilMs?: number;
  /** Its update has not ended. */
  readonly isNeeded?: true;
} & (LabelledCopy | StrayCopy);

type LabelledCopy = {
  readonly kind: 'labelled';
  /** The id of the update. */
  readonly transaction: string;
  readonly bytes: number;
  readonly files: number;
};

/** After its removal, a power cut has brought it back without its labels: they had told the rest. */
type StrayCopy = { readonly kind: 'stray' };

/**
 * All copies, oldest first: the kept ones, the ones of updates that have not ended, the ones that an interrupted update
 * has left, and the ones that are back after a power cut.
 */
export async function listCopies(
  { engine }: Pick<ReadOnlyOutside, 'engine'>,
  signal?: AbortSignal,
): Promise<readonly KeptCopy[]> {
  return withNeed({ engine }, copiesAmong(await engine.listVolumes(undefined, signal)), signal);
}

/**
 * Tells which copies belong to an update that has not ended. While there is a container of one, all copies of that
 * container count: its mark may be gone, and nothing else shows which update it is of.
 */
async function withNeed(
  { engine }: Pick<ReadOnlyOutside, 'engine'>,
  copies: readonly KeptCopy[],
  signal: AbortSignal | undefined,
): Promise<readonly KeptCopy[]> {
  if (copies.length === 0) return copies;
  const [images, containers] = await Promise.all([engine.listImages(signal), engine.listContainers({}, signal)]);
  const marks = [...transactionMarksOf(images), ...helperMarksOf(images)];
  const inUpdate = new Set(containers.flatMap(({ name }) => parseTransactionName(name)?.name ?? []));
  return copies.map((copy): KeptCopy => {
    const isMarked = marks.some(({ transactionKey }) => transactionKey === copy.transactionKey);
    const isOpen = isMarked || inUpdate.has(copy.container);
    return isOpen ? { ...copy, isNeeded: true } : copy;
  });
}

type Kept = KeptCopy & LabelledCopy & Required<Pick<KeptCopy, 'keptUntilMs'>>;

function isKept(copy: KeptCopy): copy is Kept {
  return copy.kind === 'labelled' && copy.keptUntilMs !== undefined;
}

async function readKeptCopies(
  { engine }: Pick<ReadOnlyOutside, 'engine'>,
  signal: AbortSignal | undefined,
): Promise<readonly Kept[]> {
  return copiesAmong(await engine.listVolumes(dataOfLabel, signal)).filter(isKept);
}

function copiesAmong(volumes: readonly Volume[]): readonly KeptCopy[] {
  const copies = volumes.flatMap((volume): readonly KeptCopy[] => {
    const { name, labels, createdAtMs } = volume;
    const owner = ownerOfCopy(volume);
    const keepMs = wholeNumber(labels[copyLabels.keep]);
    if (owner === undefined || keepMs > maxKeepMs) return [];
    const { leader: container, ...update } = owner;
    const copy = { container, volume: name, takenAtMs: createdAtMs };
    if (update.kind === 'stray') return [{ ...copy, ...update }];
    const [bytes, files] = [wholeNumber(labels[copyLabels.bytes]), wholeNumber(labels[copyLabels.files])];
    const until = keepMs > 0 ? { keptUntilMs: createdAtMs + keepMs } : {};
    return [{ ...copy, ...update, ...until, bytes, files }];
  });
  return copies.toSorted((one, other) => one.takenAtMs - other.takenAtMs);
}

function wholeNumber(text = ''): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

/** Removes the copies of these containers. Throws if one has none, an unfinished update needs it, or the engine refuses. */
export async function removeCopies(
  { engine }: Pick<Outside, 'engine'>,
  names: readonly string[],
  signal?: AbortSignal,
): Promise<readonly KeptCopy[]> {
  const copies = await listCopies({ engine }, signal);
  const missing = names.find((name) => !copies.some(({ container }) => container === name));
  if (missing !== undefined)
    throw new ServiceError('not-found', `Cannot remove the copy of ${quoted(missing)}: none is kept`, {
      remedy: 'upkeep data list shows all copies',
    });
  const removed = copies.filter(({ container }) => names.includes(container));
  const needed = removed.find(({ isNeeded }) => isNeeded);
  if (needed !== undefined)
    throw new ServiceError('busy', `Cannot remove the copy of ${quoted(needed.container)}: its update has not ended`, {
      remedy: 'the next run or start of Upkeep, or "upkeep recover", ends an interrupted update',
    });
  for (const [index, { volume, container }] of removed.entries()) {
    const outcome = await engine.removeVolume(volume);
    if (isFailure(outcome)) {
      const gone = removed.slice(0, index).map((copy) => quoted(copy.volume));
      const before = gone.length > 0 ? `; removed before that: ${gone.join(', ')}` : '';
      throw new ServiceError(
        'engine-refused',
        `Cannot remove the copy of ${quoted(container)}: ${outcome.message}${before}`,
      );
    }
  }
  return removed;
}

/**
 * Whether a copy of this container's data may be kept: the update that made it has copied data, as its journal says, or
 * its labels ask for copies, which an update of a container before it may have made.
 */
export function mayHaveCopy({ labels }: Pick<ContainerSummary, 'labels'>): boolean {
  if (labels[`${journalPrefix}data`] !== undefined) return true;
  if (!dataLabels.some((label) => labels[label] !== undefined)) return false;
  const { data, dataKeepMs = 0 } = readLabels(labels, {}).labelSettings;
  return dataKeepMs > 0 || (data !== undefined && data.kind !== 'none');
}

/** All labels of a container take long to read, and each run asks about each container. */
const dataLabels = [`${ownPrefix}data`, `${ownPrefix}data-keep`] as const;

type Possible = {
  /** Absent: all. */
  readonly names?: readonly string[];
  readonly signal: AbortSignal | undefined;
};

/** Whether one of these containers may have a copy. A container that is not there now shows nothing. */
async function mayHaveCopies(
  { engine }: Pick<ReadOnlyOutside, 'engine'>,
  { names, signal }: Possible,
): Promise<boolean> {
  const listed = await engine.listContainers({}, signal);
  if (names === undefined) return listed.some(mayHaveCopy);
  const without = new Set(listed.flatMap((container) => (mayHaveCopy(container) ? [] : [container.name])));
  return names.some((name) => !without.has(name));
}

/**
 * Removes the copies whose time is over, unless an unfinished update may still restore them. A failed removal is repeated
 * by the next run. An engine that denies the list is worth a warning only if something shows that there may be copies.
 */
export async function removeOverdueCopies(
  { engine, log }: Outside,
  { dataKeepMs }: Pick<ServiceSettings, 'dataKeepMs'>,
  signal?: AbortSignal,
): Promise<void> {
  try {
    const copies = await readKeptCopies({ engine }, signal);
    if (copies.length === 0) return;
    const { nowMs } = await engine.info(signal);
    const overdue = copies.filter(({ keptUntilMs }) => keptUntilMs <= nowMs);
    for (const { container, volume, isNeeded } of await withNeed({ engine }, overdue, signal)) {
      if (isNeeded || signal?.aborted) continue;
      const outcome = await engine.removeVolume(volume);
      if (isFailure(outcome))
        log.warn('A kept copy of data cannot be removed', { container, volume, error: outcome.message });
      else log.info('A kept copy of data was removed', { container, volume, because: 'its time is over' });
    }
  } catch (error) {
    if (signal?.aborted) return;
    if (!(error instanceof ServiceError)) throw error;
    const isKeeping = dataKeepMs > 0 || error.code !== 'engine-denied';
    const mayExist = isKeeping || (await mayHaveCopies({ engine }, { signal }).catch(() => true));
    log[mayExist ? 'warn' : 'debug']('Kept copies of data cannot be listed', { error: describeError(error) });
  }
}

/**
 * The kept copies that matter to a rollback of these containers. Throws if it needs an answer about their data. An engine
 * that denies the list refuses the rollback, unless no container shows that it may have a copy and no data are to come
 * back.
 */
export async function copiesForRollback(
  { engine, log }: Pick<ReadOnlyOutside, 'engine' | 'log'>,
  names: readonly string[],
  answer: RollbackOptions['data'],
  signal: AbortSignal | undefined,
): Promise<readonly Kept[]> {
  try {
    const copies = await readKeptCopies({ engine }, signal);
    requireDataAnswer(copies, names, answer);
    return copies;
  } catch (error) {
    const isDenied = error instanceof ServiceError && error.code === 'engine-denied';
    if (!isDenied || answer === 'restore' || (await mayHaveCopies({ engine }, { names, signal }))) throw error;
    log.debug('Kept copies of data cannot be listed', { containers: names, error: describeError(error) });
    return [];
  }
}

/**
 * Throws if a copy is kept of one of the containers and nobody has said what becomes of the data. No answer is safe:
 * each loses something.
 */
function requireDataAnswer(copies: readonly Kept[], names: readonly string[], answer: RollbackOptions['data']): void {
  if (answer !== undefined) return;
  const copy = copies.find(({ container }) => names.includes(container));
  if (copy === undefined) return;
  const { container, takenAtMs, bytes } = copy;
  const at = printTime(takenAtMs);
  throw new ServiceError(
    'undecided',
    `Cannot roll back ${quoted(container)} without a decision about its data, of which a copy of ${at} is kept (${formatBytes(bytes)})`,
    {
      remedy: `with --data restore everything written since ${at} is lost; with --data leave the data stays as it is, and the old version may not be able to read it`,
    },
  );
}
