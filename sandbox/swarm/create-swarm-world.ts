import { parseImageReference } from '../../src/domain/reference/image-reference.ts';
import type { Clock } from '../../src/domain/outside/outside.ts';
import { createIdSource } from '../base/ids.ts';
import { createTimers } from '../base/timers.ts';
import type { RegistryStore } from '../registry/registry-store.ts';
import { reconcile } from './orchestrator.ts';
import type { SwarmState } from './swarm-world.ts';

/** A swarm without nodes; they pull from the registries. */
export function createSwarmWorld({
  clock,
  registries,
  seed,
  announce,
}: {
  readonly clock: Clock;
  readonly registries: RegistryStore | undefined;
  readonly seed: string;
  readonly announce: SwarmState['announce'];
}): SwarmState {
  const world: SwarmState = {
    id: `swarm${seed}`,
    clock,
    later: createTimers(clock),
    newId: createIdSource(`${seed} swarm`),
    behaviourOf: async (reference, credentials) => {
      try {
        const manifest = await registries?.fetch(parseImageReference(reference), { credentials });
        const image = manifest?.kind === 'index' ? manifest.images[0] : manifest?.image;
        if (image === undefined) return undefined;
        const { behaviour, config } = image;
        return { behaviour, hasHealthcheck: config.Healthcheck !== undefined && config.Healthcheck !== null };
      } catch {
        // The error of a node has no other detail than the missing image.
        return undefined;
      }
    },
    announce,
    settle: () => reconcile(world),
    nodes: new Map(),
    services: new Map(),
    tasks: new Map(),
    failures: new Map(),
    taskHistory: 5,
    index: 10,
  };
  return world;
}
