import type { ContainerFacts, Member, MemberFacts } from '../../../domain/transaction/facts.ts';
import type { Container } from '../../../domain/container/container.ts';
import type { Outside } from '../../../domain/outside/outside.ts';
import { parseTransactionName, transactionNamePrefix } from '../../../domain/transaction/transaction-names.ts';
import { carriesJournal, readJournal } from '../../../domain/transaction/journal.ts';

export async function holderOf(
  { engine }: Outside,
  { name, oldId, transaction }: Member & { readonly transaction: string },
  old: ContainerFacts | undefined,
  successor: ContainerFacts | undefined,
): Promise<MemberFacts['nameHeldBy']> {
  if (old?.place === 'name') return 'old';
  if (successor?.place === 'name') return 'new';
  const holder = await engine.inspectContainer(name);
  if (holder?.name !== name) return 'nobody';
  const reading = readJournal(holder.settings.Config.Labels ?? {});
  if (reading.kind !== 'journal' || reading.journal.oldId !== oldId) return 'stranger';
  return successor !== undefined && reading.journal.transaction === transaction ? 'copy' : 'rival';
}

/**
 * Other updates of the same name. Its `.upkeep-new` container is the lock; any other container of an update on that
 * name belongs to another update. A name alone does not count: it needs a journal, or it is the container that ours has
 * replaced.
 */
export async function rivalsOf(
  { engine }: Outside,
  name: string,
  own: readonly (string | undefined)[],
  replacedId: string | undefined,
): Promise<string[]> {
  const containers = await engine.listContainers({ namePrefix: transactionNamePrefix(name) });
  return containers
    .filter(({ id, name: other, labels }) => {
      if (own.includes(id) || parseTransactionName(other)?.name !== name) return false;
      return carriesJournal(labels) || id === replacedId;
    })
    .map((container) => container.name);
}

/** The container that the last update of this one has replaced. */
export function replacedBy(container: Container | undefined): string | undefined {
  const reading = readJournal(container?.settings.Config.Labels ?? {});
  return reading.kind === 'journal' ? reading.journal.oldId : undefined;
}
