import type { ContainerSummary, ImageSummary } from '../../domain/container/container.ts';
import { carriesJournal, readJournal, transactionLabel } from '../../domain/transaction/journal.ts';
import { imageLabelsIn, indexImages } from '../../domain/container/image-index.ts';
import { containerOwnLabels } from '../../domain/container/label-names.ts';
import type { TransactionMark } from '../../domain/transaction/transaction-mark.ts';
import { parseTransactionName } from '../../domain/transaction/transaction-names.ts';

type Suspects = {
  readonly carriers: readonly ContainerSummary[];
  /** Names of containers with an unreadable journal, and the transactions in it. */
  readonly foreign: readonly string[];
  readonly foreignIds: readonly string[];
};

/**
 * Containers that need an inspection. They are few: the journal of a finished update stays on its container without
 * effect.
 */
export function suspectsAmong(
  containers: readonly ContainerSummary[],
  images: readonly ImageSummary[],
  marked: readonly TransactionMark[],
): Suspects {
  const imageLabelsOf = imageLabelsIn(indexImages(images));
  const present = new Set([...containers.map(({ id }) => id), ...marked.map(({ oldId }) => oldId)]);
  const carrying = containers.filter(({ labels }) => carriesJournal(labels));
  const read = carrying.map((container) => {
    // An image may have been removed by force while its container exists. The container still starts, and all its
    // labels count as its own.
    const labels = containerOwnLabels(container.labels, imageLabelsOf(container) ?? {});
    return { container, labels, given: parseTransactionName(container.name), reading: readJournal(labels) };
  });
  // Transactions without their old container: the other carrier, at its plain name, shows whether the update is over.
  const withoutOld = new Set<string>();
  for (const { given, reading } of read)
    if (reading.kind === 'journal' && (given?.role === 'bad' || (given && reading.journal.role === 'standin')))
      withoutOld.add(reading.journal.oldId);
  const carriers = read.filter(({ given, reading }) => {
    if (reading.kind !== 'journal') return false;
    const isParked = given?.role === 'old' || given?.role === 'drop';
    // The journal of an earlier update, on a container that this transaction replaces.
    if (isParked && reading.journal.role === 'successor') return false;
    return given !== undefined || present.has(reading.journal.oldId) || withoutOld.has(reading.journal.oldId);
  });
  const foreign = read.filter(({ given, reading }) => given !== undefined && reading.kind === 'foreign');
  return {
    carriers: carriers.map(({ container }) => container),
    foreign: foreign.map(({ container }) => container.name),
    foreignIds: foreign.map(({ labels }) => labels[transactionLabel] ?? ''),
  };
}
