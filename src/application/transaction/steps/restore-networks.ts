import type { Endpoint } from '../../../domain/container/container-settings.ts';
import type { Container, Network } from '../../../domain/container/container.ts';
import { networkOfEndpoint, withoutAssigned } from '../../../domain/container/recipe/network/endpoints.ts';
import { defaultBridge } from '../../../domain/container/recipe/network/network-mode.ts';
import type { CallOutcome } from '../../../domain/outside/engine-writer.ts';
import { quoted } from '../../../domain/text/printable.ts';
import type { PreparedMember } from '../facts/prepare.ts';
import type { StepContext } from './step-context.ts';

/**
 * Connects a container to networks that were removed and exist again. `docker network prune` removes a network in which
 * nothing runs: between the stop of the old container and the start of the new one, this can be theirs. An update knows
 * the networks and creates them; a recovery waits until somebody has. Returns the `outcome` that the engine gave, unless
 * it is a 404 for that reason.
 */
export async function restoreNetworks(
  context: StepContext,
  containerId: string,
  outcome: CallOutcome,
): Promise<CallOutcome> {
  if (outcome.kind !== 'refused' || outcome.status !== 404) return outcome;
  const { engine, log } = context.outside;
  const container = await engine.inspectContainer(containerId);
  if (container === undefined) return outcome;
  const present = await engine.listNetworks();
  const lost = lostEndpoints(container, present);
  const parts = partsOf(context, containerId);
  for (const [name, endpoint] of lost) {
    if (present.every((network) => network.name !== name)) {
      const network = parts && networkBefore(context, parts, name);
      if (network === undefined) return outcome;
      const created = await engine.createNetwork(network);
      if (created.kind === 'refused' || created.kind === 'unknown') {
        const message = `its network ${quoted(name)} was removed, and cannot be created again: ${created.message}`;
        return { ...created, message };
      }
      log.warn('A network was removed during an update, and is created again', { network: name });
    }
    const wanted = parts?.endpoints.get(name) ?? withoutAssigned(endpoint);
    const connected = await engine.connectNetwork({ containerId, networkId: name, endpoint: wanted });
    if (connected.kind === 'refused' || connected.kind === 'unknown') return connected;
  }
  return lost.length > 0 ? { kind: 'done' } : outcome;
}

/** The endpoints whose network does not exist. The default bridge cannot be removed, and Podman calls it otherwise. */
function lostEndpoints({ settings }: Container, present: readonly Network[]): (readonly [string, Endpoint])[] {
  return Object.entries(settings.Networks).filter(
    ([name, endpoint]) => name !== defaultBridge && networkOfEndpoint(present, name, endpoint) === undefined,
  );
}

function partsOf({ transaction, prepared }: StepContext, containerId: string): PreparedMember | undefined {
  const { members, successors, autoRemoveReplicas } = transaction;
  const index = members.findIndex(({ oldId }) =>
    [oldId, successors.get(oldId), autoRemoveReplicas.get(oldId)].includes(containerId),
  );
  return prepared?.members[index];
}

function networkBefore({ prepared }: StepContext, { planned }: PreparedMember, name: string): Network | undefined {
  return networkOfEndpoint(prepared?.networks ?? [], name, planned.container.settings.Networks[name] ?? {});
}
