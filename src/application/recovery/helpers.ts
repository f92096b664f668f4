import type { ImageLabelsOf } from '../../domain/container/image-index.ts';
import {
  type ContainerSummary,
  type Image,
  type ImageSummary,
  isAlive,
  shortId,
} from '../../domain/container/container.ts';
import { type HelperOrder, readHelperOrder } from '../../domain/self-update/helper.ts';
import { readJournal } from '../../domain/transaction/journal.ts';
import { logTail } from '../../domain/text/log-tail.ts';
import { helperMarksOf, helperMarkText, isMarkOf } from '../../domain/transaction/transaction-mark.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { isHelperName } from '../../domain/transaction/transaction-names.ts';
import type { FoundTransaction } from './find-open.ts';
import { untag } from '../transaction/facts/marks.ts';
import { withRecipients } from './recipients.ts';

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

/**
 * Removes the helper. Call it before any change to its transaction. Resolves to the reason if the helper is still
 * there.
 */
export async function dismissHelper(outside: Outside, { container, tag }: Helper): Promise<string | undefined> {
  const outcome = await outside.engine.removeContainer(container.id);
  if (outcome.kind === 'done' || outcome.kind === 'noop') {
    if (tag !== '') await untag(outside, tag);
    return undefined;
  }
  return `its helper "${container.name}" cannot be removed: ${outcome.message}`;
}

/**
 * Removes the helper of a finished transaction and logs its result once. Only the Upkeep that now has the container's
 * name does so.
 */
export async function concludeHelper(
  outside: Outside,
  helper: Helper,
  own: ContainerSummary,
  imageLabelsOf: ImageLabelsOf,
): Promise<void> {
  const { engine, log } = outside;
  const { container, order } = helper;
  // The helper may be writing its last lines. Engines that cannot change policies would restart it forever.
  if (isAlive(container.status)) await engine.waitUntilStopped(container.id, lastMomentsMs);
  const words = await lastWordsOf(outside, container.id);
  if ((await dismissHelper(outside, helper)) !== undefined) return;
  const [before, after] = await Promise.all([order.oldImageId, order.newImageId].map((id) => engine.inspectImage(id)));
  const from = versionOf(before, order.oldImageId);
  const to = versionOf(after, order.newImageId);
  const fields = { container: order.name, image: order.reference, from: order.oldImageId, to: order.newImageId };
  const reading = readJournal(own.labels);
  const settled = (result: 'finished' | 'undone', reason: string) => {
    const transaction = withRecipients({ containers: [order.name], result, reason }, [own], imageLabelsOf);
    outside.publish({ kind: 'earlier_updates_settled', transactions: [transaction] });
  };
  if (own.id === order.oldId) {
    const reason = `Upkeep itself was not updated from ${from} to ${to}`;
    log.warn(reason, { ...fields, helper: words });
    settled('undone', reason);
  } else if (reading.kind === 'journal' && reading.journal.transaction === order.transaction) {
    const reason = `Upkeep itself was updated from ${from} to ${to}`;
    log.info(reason, fields);
    settled('finished', reason);
  }
}

/** The process ends a moment after its last change. */
const lastMomentsMs = 10_000;

/** The end of its log; empty if it cannot be read. */
export async function lastWordsOf({ engine }: Outside, id: string): Promise<string> {
  try {
    const log = await engine.containerLogs(id, { tail: 5 });
    return logTail(log, (await engine.inspectContainer(id))?.settings.Config.Env ?? []);
  } catch {
    return '';
  }
}

function versionOf(image: Image | undefined, id: string): string {
  return image?.config.Labels?.[versionLabel] || shortId(id);
}

/** https://github.com/opencontainers/image-spec/blob/main/annotations.md */
const versionLabel = 'org.opencontainers.image.version';
