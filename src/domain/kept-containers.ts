import { type ContainerSummary, isAlive } from './container.ts';
import { readJournal } from './journal.ts';
import { type KeptName, parseKeptName, parseStandingName } from './transaction-names.ts';

/** A container that an update has kept, and what its name tells. */
export type KeptContainer = { readonly container: ContainerSummary; readonly kept: KeptName };

export function keptAmong(containers: readonly ContainerSummary[]): readonly KeptContainer[] {
  return containers.flatMap((container) => {
    const kept = parseKeptName(container.name);
    return kept === undefined ? [] : [{ container, kept }];
  });
}

/** The same without those: what may be selected, planned and repaired. */
export function withoutKept(containers: readonly ContainerSummary[]): readonly ContainerSummary[] {
  return containers.filter(({ name }) => parseKeptName(name) === undefined);
}

/**
 * Why a kept container goes now; undefined while it stays. One that somebody has started is theirs,
 * and while an update of its name is not finished nothing is certain.
 */
export function whyOver(
  { container, kept }: KeptContainer,
  containers: readonly ContainerSummary[],
  nowMs: number,
): string | undefined {
  if (isAlive(container.status)) return undefined;
  if (kept.untilMs <= nowMs) return 'its time is over';
  if (containers.some(({ name }) => parseStandingName(name)?.name === kept.name)) return undefined;
  const successor = containers.find(({ name }) => name === kept.name);
  const reading = successor && readJournal(successor.labels);
  if (reading?.kind !== 'journal' || reading.journal.role !== 'successor') return undefined;
  return reading.journal.oldId === container.id ? undefined : 'there has been another update since';
}
