import type { Network } from '../../../domain/container/container.ts';
import { defaultBridge } from '../../../domain/container/recipe/network/network-mode.ts';
import type { CallOutcome } from '../../../domain/outside/engine-writer.ts';
import { quoted } from '../../../domain/text/printable.ts';
import type { PreparedMember, PreparedTransaction } from '../facts/prepare.ts';
import type { StepContext } from './step-context.ts';

/**
 * Creates the removed networks of a container again, and connects the container to them. `docker network prune` removes
 * a network in which nothing runs: between the stop of the old container and the start of the new one, this can be
 * theirs. Returns the `outcome` that the engine gave, unless it is a 404 for that reason.
 */
export async function restoreNetworks(
  { outside: { engine, log }, transaction, prepared }: StepContext,
  containerId: string,
  outcome: CallOutcome,
): Promise<CallOutcome> {
  const { members, successors, autoRemoveReplicas } = transaction;
  const index = members.findIndex(({ oldId }) =>
    [oldId, successors.get(oldId), autoRemoveReplicas.get(oldId)].includes(containerId),
  );
  const parts = prepared?.members[index];
  const isNotFound = outcome.kind === 'refused' && outcome.status === 404;
  if (!isNotFound || prepared === undefined || parts === undefined) return outcome;
  if ((await engine.inspectContainer(containerId)) === undefined) return outcome;
  const present = await engine.listNetworks();
  const lost = networksOf(prepared, parts).filter(({ id }) => present.every((network) => network.id !== id));
  for (const network of lost) {
    const created = await engine.createNetwork(network);
    if (created.kind === 'refused' || created.kind === 'unknown')
      return {
        ...created,
        message: `its network ${quoted(network.name)} was removed, and cannot be created again: ${created.message}`,
      };
    if (created.kind === 'done')
      log.warn('A network was removed during an update, and is created again', { network: network.name });
    const endpoint = parts.endpoints.get(network.name) ?? {};
    const connected = await engine.connectNetwork({ containerId, networkId: network.name, endpoint });
    if (connected.kind === 'refused' || connected.kind === 'unknown') return connected;
  }
  return lost.length > 0 ? { kind: 'done' } : outcome;
}

/** The default bridge cannot be removed, and has a new id after each start of the engine. */
function networksOf({ networks }: PreparedTransaction, { planned, endpoints }: PreparedMember): Network[] {
  const { Networks } = planned.container.settings;
  return [...endpoints.keys()].flatMap((name) => {
    const id = Networks[name]?.NetworkID ?? '';
    const network = networks.find((candidate) => (id === '' ? candidate.name === name : candidate.id === id));
    return network === undefined || name === defaultBridge ? [] : [network];
  });
}
