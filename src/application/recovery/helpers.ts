import { type ContainerSummary, type ImageSummary, isAlive } from '../../domain/container/container.ts';
import { type HelperOrder, readHelperOrder } from '../../domain/self-update/helper.ts';
import { helperMarksOf, helperMarkText, isMarkOf, isHelperName } from '../../domain/transaction/transaction-names.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { FoundTransaction } from './find-open.ts';

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
