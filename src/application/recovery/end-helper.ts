import { versionFactsOf, type ImageLabelsOf } from '../../domain/container/lookup.ts';
import { versionOf } from '../../domain/image/labels.ts';
import {
  isAlive,
  shortId,
  type ContainerSummary,
  type Image,
  type ImageSummary,
} from '../../domain/container/container.ts';
import { readJournal } from '../../domain/transaction/journal.ts';
import { readHelperOrder, type HelperOrder } from '../../domain/self-update/helper.ts';
import { logTail } from '../../domain/text/hidden-secrets.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { untag } from '../transaction/open-transaction.ts';
import type { Found, FoundTransaction } from './find-open.ts';
import {
  helperMarksOf,
  helperMarkText,
  isMarkOf,
  isHelperName,
  plainName,
} from '../../domain/transaction/transaction-names.ts';
import type { RecoveredTransaction } from '../../domain/run/event.ts';
import { readLabels } from '../../domain/settings/effective-settings.ts';

/**
 * Removes the helper. Call it before any change to its transaction. Resolves to the reason if the helper is still
 * there.
 */
async function dismissHelper(outside: Outside, { container, tag }: Helper): Promise<string | undefined> {
  const outcome = await outside.engine.removeContainer(container.id);
  if (outcome.kind === 'done' || outcome.kind === 'noop') {
    if (tag !== '') await untag(outside, tag);
    return undefined;
  }
  return `its helper "${container.name}" cannot be removed: ${outcome.message}`;
}

/** The end of a helper. `none`: its transaction has another end, such as one by a person. */
export type EndedHelper = {
  readonly order: HelperOrder;
  readonly result: 'finished' | 'undone' | 'none';
  /** The last lines of its log. */
  readonly words: string;
};

type Conclusion = {
  /** The container that the helper has replaced, or its successor. */
  readonly holder: ContainerSummary | undefined;
  readonly imageLabelsOf: ImageLabelsOf;
  readonly awaited?: { readonly transaction: string; readonly onEnded: (ended: EndedHelper) => void } | undefined;
};

/** Removes the helper of a finished transaction and tells its result once. Only the Upkeep that waits for it does so. */
async function concludeHelper(
  outside: Outside,
  helper: Helper,
  { holder, imageLabelsOf, awaited }: Conclusion,
): Promise<void> {
  const { engine, log } = outside;
  const { container, order } = helper;
  // The helper may be writing its last lines. Engines that cannot change policies would restart it forever.
  if (isAlive(container.status)) await engine.waitUntilStopped(container.id, lastMomentsMs);
  const words = await logTailOf(outside, container.id);
  if ((await dismissHelper(outside, helper)) !== undefined) return;
  const reading = holder && readJournal(holder.labels);
  const isFinished = reading?.kind === 'journal' && reading.journal.transaction === order.transaction;
  const result = holder?.id === order.oldId ? 'undone' : isFinished ? 'finished' : 'none';
  const isAwaited = awaited?.transaction === order.transaction;
  if (isAwaited) awaited.onEnded({ order, result, words });
  if (holder === undefined || result === 'none') return;
  const [before, after] = await Promise.all([order.oldImageId, order.newImageId].map((id) => engine.inspectImage(id)));
  const image = order.reference;
  const from = shownVersion(before, { image, digest: order.oldImageId });
  const to = shownVersion(after, { image, digest: order.newImageId });
  const fields = { container: order.name, image, from: order.oldImageId, to: order.newImageId };
  const which = order.waiting === undefined ? 'Upkeep itself' : quoted(order.name);
  const reason = `${which} was ${result === 'undone' ? 'not ' : ''}updated from ${from} to ${to}`;
  if (result === 'undone') log.warn(reason, { ...fields, helper: words });
  else log.info(reason, fields);
  if (isAwaited) return;
  const transaction = withRecipients({ containers: [order.name], result, reason }, [holder], imageLabelsOf);
  outside.publish({ kind: 'earlier_updates_settled', transactions: [transaction] });
}

/** The process ends a moment after its last change. */
const lastMomentsMs = 10_000;

/** The end of its log; empty if it cannot be read. */
async function logTailOf({ engine }: Outside, id: string): Promise<string> {
  try {
    const log = await engine.containerLogs(id, { tail: 5 });
    return logTail(log, (await engine.inspectContainer(id))?.settings.Config.Env ?? []);
  } catch {
    return '';
  }
}

/** An engine that no longer has the image gives its id. */
function shownVersion(image: Image | undefined, facts: Parameters<typeof versionFactsOf>[1]): string {
  const version = image === undefined ? undefined : versionOf(versionFactsOf(image, facts));
  return version ?? shortId(facts.digest);
}

type Waiting = {
  /** The container that has the name of the one that it replaces. */
  readonly holder: ContainerSummary | undefined;
  readonly waitedMs: number;
};

/**
 * Why the helper stays; undefined after its removal. A running helper stays until it is overdue, which only an Upkeep
 * that waits for it can notice. Every Upkeep removes a stopped one.
 */
export async function whyHelperKept(
  outside: Outside,
  helper: Helper,
  { holder, waitedMs }: Waiting,
): Promise<string | undefined> {
  const { container, order } = helper;
  const hasBegun = holder?.id !== order.oldId;
  const isOverdue = waitedMs > (hasBegun ? maxTransactionMs : maxTakeUpMs);
  if (isAlive(container.status) && !isOverdue) return `its helper "${container.name}" is updating it`;
  const words = await logTailOf(outside, container.id);
  const why = await dismissHelper(outside, helper);
  const fields = { helper: container.name, status: container.status, log: words };
  const which = order.waiting === undefined ? 'Upkeep itself' : quoted(order.name);
  if (why === undefined) outside.log.warn(`The helper that was to update ${which} is given up`, fields);
  return why;
}

/** A container starts within seconds, even on a small machine under load. */
const maxTakeUpMs = 120_000;

/** Concludes the helpers that our own container waits for: its own, and those of doors that nobody else waits for. */
export async function concludeHelpers(
  outside: Outside,
  own: ContainerSummary,
  helpers: readonly Helper[],
  {
    open,
    containers,
    ...conclusion
  }: Pick<Found, 'open'> & Omit<Conclusion, 'holder'> & { readonly containers: readonly ContainerSummary[] },
): Promise<void> {
  const named = (name: string) => containers.find((one) => one.name === name);
  for (const helper of helpers) {
    const { order } = helper;
    const isOver = !open.some((transaction) => isHelperOf(order, transaction));
    const { waiting = order.name } = order;
    const isOurs = waiting === own.name || (order.waiting !== undefined && named(waiting) === undefined);
    if (isOver && isOurs) await concludeHelper(outside, helper, { ...conclusion, holder: named(order.name) });
  }
}

export type Helper = {
  readonly container: ContainerSummary;
  readonly order: HelperOrder;
  /** The tag that marks the helper; empty if it has none. */
  readonly tag: string;
};

/**
 * Names and labels can be forged, so a running helper must have a mark. A stopped helper needs none: it blocks nothing,
 * and may have stopped before it got a mark.
 */
export function helpersIn(
  { seal }: Pick<Outside, 'seal'>,
  containers: readonly ContainerSummary[],
  images: readonly ImageSummary[],
): readonly Helper[] {
  const marked = helperMarksOf(images);
  return containers.flatMap((container) => {
    const order = isHelperName(container.name) ? readHelperOrder(container.labels) : undefined;
    if (order === undefined) return [];
    const mark = marked.find((one) => one.helperId === container.id && isMarkOf(one, order.transaction));
    if (mark === undefined) return isAlive(container.status) ? [] : [{ container, order, tag: '' }];
    const isOurs = seal === undefined || seal.verify(helperMarkText(container.id, order.transaction), mark.seal);
    return isOurs ? [{ container, order, tag: mark.tag }] : [];
  });
}

/** Also true if the successor was removed, and the transaction's id is unknown as a result. */
export function isHelperOf(order: HelperOrder, { id, members }: Pick<FoundTransaction, 'id' | 'members'>): boolean {
  return id === order.transaction || members.some(({ oldId }) => oldId === order.oldId);
}

/** Adds the notification targets that labels of the transaction's containers name. */
export function withRecipients(
  transaction: RecoveredTransaction,
  listed: readonly ContainerSummary[],
  imageLabelsOf: ImageLabelsOf,
): RecoveredTransaction {
  const labelled = transaction.containers.flatMap((name) => {
    // Of an old container and its successor, the older one has the labels of the user.
    const container = listed.findLast((one) => plainName(one.name) === name);
    const notify = container && readLabels(container.labels, imageLabelsOf(container)).labelSettings.notify;
    return notify === undefined ? [] : [[name, notify] as const];
  });
  return labelled.length === 0 ? transaction : { ...transaction, recipients: Object.fromEntries(labelled) };
}

/** Longer than any transaction: the longest stop and the longest health check together. */
const maxTransactionMs = 2 * 3_600_000;
