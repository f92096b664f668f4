import type { DesiredEndState } from '../settings/desired-end-state.ts';
import type { Container } from '../container/container.ts';
import { conditionalOn, type DependencyGraph, hardDependenciesOfId } from './graph/dependency-graph.ts';
import type { PlannedMember, PlannedTransaction, Requirement, StaleContainer } from './planned-transaction.ts';

/** The desired end state of each member, by id. */
export type Endings = ReadonlyMap<string, DesiredEndState>;

export function transactionOf(
  group: readonly Container[],
  endings: Endings,
  stale: ReadonlyMap<string, StaleContainer>,
  graph: DependencyGraph,
): Omit<PlannedTransaction, 'after'> {
  const members = group.map((container): PlannedMember => {
    const update = stale.get(container.id);
    return {
      container,
      cause: update === undefined ? 'linked' : 'stale',
      reference: update?.reference ?? container.settings.Config.Image,
      digest: update?.digest,
      ...(update?.formerReference !== undefined && { formerReference: update.formerReference }),
      ...(update?.imageId === undefined ? {} : { imageId: update.imageId }),
      hardDependencies: hardDependenciesOfId(graph, container.id).filter((id) => endings.has(id)),
      desiredEndState: endings.get(container.id) ?? 'stopped',
      waitsFor: conditionalOn(graph, container.id)
        .map(({ targetId }) => targetId)
        .filter((id) => endings.has(id)),
    };
  });
  return { id: group[0]?.id ?? '', members, requires: requirementsOf(members, graph) };
}

/** A member that is not started has no requirements. */
function requirementsOf(members: readonly PlannedMember[], graph: DependencyGraph): readonly Requirement[] {
  const own = new Set(members.map(({ container }) => container.id));
  return members
    .filter(({ desiredEndState }) => desiredEndState !== 'stopped')
    .flatMap(({ container }) => conditionalOn(graph, container.id))
    .filter(({ targetId }) => !own.has(targetId))
    .flatMap(({ targetId, condition }) => {
      const name = graph.containers.get(targetId)?.name;
      return name === undefined ? [] : [{ name, condition }];
    });
}
