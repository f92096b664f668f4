import type { ContainerSummary } from '../../domain/container/container.ts';
import type { ImageLabelsOf } from '../../domain/container/lookup.ts';
import type { RecoveredTransaction } from '../../domain/run/event.ts';
import { readLabels } from '../../domain/settings/effective-settings.ts';
import { plainName } from '../../domain/transaction/transaction-names.ts';

/** Adds the notification targets that labels of the transaction's containers name. */
export function withRecipients(
  transaction: RecoveredTransaction,
  listed: readonly ContainerSummary[],
  imageLabelsOf: ImageLabelsOf,
): RecoveredTransaction {
  const labelled = transaction.containers.flatMap((name) => {
    // Of an old container and its successor, the older one has the labels of the user.
    const container = listed.findLast((one) => plainName(one.name) === name);
    const notify = container && readLabels(container.labels, imageLabelsOf(container)).wishes.notify;
    return notify === undefined ? [] : [[name, notify] as const];
  });
  return labelled.length === 0 ? transaction : { ...transaction, recipients: Object.fromEntries(labelled) };
}
