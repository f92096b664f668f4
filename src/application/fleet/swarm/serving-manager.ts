import type { EngineApplication } from '../../application.ts';
import type { EngineNode, ReachedMember } from '../member/member.ts';

/** An engine that manages the swarm. */
export type Manager = Pick<ReachedMember, 'name' | 'reach'> & {
  readonly node: EngineNode;
  readonly application: Pick<EngineApplication, 'ready'>;
};

/** The choice among the managers of a swarm. */
export type ServingManager = {
  /** Known unreachable managers come last. Both groups are in configured order. */
  readonly inOrder: () => readonly Manager[];
  /** The same with the serving manager first. */
  readonly servingFirst: () => readonly Manager[];
  /** Notes the manager that answered last. */
  readonly serve: (manager: Manager) => void;
  /** The manager that answered last; `left` aborts when another one replaces it. Undefined without a manager. */
  readonly current: () => { readonly manager: Manager; readonly left: AbortSignal } | undefined;
};

export function createServingManager(managers: () => readonly Manager[]): ServingManager {
  let served: { readonly manager: Manager; readonly leaving: AbortController } | undefined;

  function inOrder(): readonly Manager[] {
    const isAway = ({ reach }: Manager) => reach.isReachable() === false;
    const all = managers();
    return [...all.filter((one) => !isAway(one)), ...all.filter(isAway)];
  }

  function servingFirst(): readonly Manager[] {
    const isServing = ({ name }: Manager) => served?.manager.name === name;
    return inOrder().toSorted((one, other) => Number(isServing(other)) - Number(isServing(one)));
  }

  function serve(manager: Manager): void {
    if (served?.manager.name === manager.name) return;
    served?.leaving.abort();
    served = { manager, leaving: new AbortController() };
  }

  function current() {
    const [manager] = servingFirst();
    if (manager === undefined) return undefined;
    serve(manager);
    return served && { manager, left: served.leaving.signal };
  }

  return { inOrder, servingFirst, serve, current };
}
