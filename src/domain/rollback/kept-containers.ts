import { type ContainerSummary, isAlive } from '../container/container.ts';
import type { ImageLabelsOf } from '../container/lookup.ts';
import type { Seal } from '../outside/outside.ts';
import { hasValidSeal, type Journal, ownJournal } from '../transaction/journal.ts';
import { isLeftOver, type KeptName, parseKeptName, parseTransactionName } from '../transaction/transaction-names.ts';

/** A kept container with the facts in its name. */
export type KeptContainer = { readonly container: ContainerSummary; readonly kept: KeptName };

export function keptAmong(containers: readonly ContainerSummary[]): readonly KeptContainer[] {
  return containers.flatMap((container) => {
    const kept = parseKeptName(container.name);
    return kept === undefined ? [] : [{ container, kept }];
  });
}

/** The containers without kept ones. Only these may be selected, planned and repaired. */
export function withoutKept(containers: readonly ContainerSummary[]): readonly ContainerSummary[] {
  return containers.filter(({ name }) => parseKeptName(name) === undefined);
}

export type KeptContext = {
  readonly containers: readonly ContainerSummary[];
  /** Ids of containers that an update has marked as kept. */
  readonly marked: Pick<ReadonlyMap<string, unknown>, 'has'>;
  readonly imageLabelsOf: ImageLabelsOf;
  /** The seal of our key: no other journal counts then. */
  readonly seal?: Pick<Seal, 'verify'> | undefined;
  /** By the engine's clock. */
  readonly nowMs: number;
};

/**
 * Reason for removing a kept container now; undefined while it stays. A kept container that a person has started stays.
 * While an update of its name is unfinished, nothing is removed.
 */
export function whyRemovable(one: KeptContainer, world: KeptContext): string | undefined {
  const { container, kept } = one;
  if (isAlive(container.status) || !isKeptByUpdate(one, world)) return undefined;
  if (kept.untilMs <= world.nowMs) return 'its time is over';
  if (world.containers.some(({ name }) => parseTransactionName(name)?.name === kept.name)) return undefined;
  const successor = world.containers.find(({ name }) => name === kept.name);
  const journal = successor && journalOf(successor, world);
  if (journal?.role !== 'successor') return undefined;
  return journal.oldId === container.id ? undefined : 'there has been another update since';
}

/**
 * True if an update kept the container, by its mark or its successor's journal, or left it over. The name of a kept one
 * alone proves nothing, because anybody may choose it.
 */
export function isKeptByUpdate({ container, kept }: KeptContainer, world: Omit<KeptContext, 'nowMs'>): boolean {
  if (world.marked.has(container.id) || isLeftOver(container)) return true;
  return world.containers.some((other) => {
    const journal = journalOf(other, world);
    return journal?.oldId === container.id && journal.name === kept.name && journal.keepMs > 0;
  });
}

function journalOf(
  container: ContainerSummary,
  { imageLabelsOf, seal }: Pick<KeptContext, 'imageLabelsOf' | 'seal'>,
): Journal | undefined {
  const journal = ownJournal(container.labels, imageLabelsOf(container));
  return journal !== undefined && hasValidSeal(journal, container.labels, seal) ? journal : undefined;
}
