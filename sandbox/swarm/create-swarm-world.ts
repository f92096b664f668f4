import { parseImageReference } from '../../src/domain/reference/image-reference.ts';
import type { Clock } from '../../src/domain/outside/outside.ts';
import { createIdSource } from '../base/ids.ts';
import { createLater } from '../base/later.ts';
import type { RegistryStore } from '../registry/registry-store.ts';
import { settle } from './orchestrator.ts';
import type { SwarmWorld } from './swarm-world.ts';

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
  readonly announce: SwarmWorld['announce'];
}): SwarmWorld {
  const world: SwarmWorld = {
    id: `swarm${seed}`,
    clock,
    later: createLater(clock),
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
    settle: () => settle(world),
    nodes: new Map(),
    services: new Map(),
    tasks: new Map(),
    failures: new Map(),
    taskHistory: 5,
    index: 10,
  };
  return world;
}
