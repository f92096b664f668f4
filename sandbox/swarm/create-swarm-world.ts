import { parseImageReference } from '../../src/domain/reference/image-reference.ts';
import type { Clock } from '../../src/domain/outside/outside.ts';
import { createIdSource } from '../base/ids.ts';
import { createLater } from '../base/later.ts';
import type { RegistryStore } from '../registry/registry-store.ts';
import type { SwarmWorld } from './swarm-world.ts';

/** An engine that is in no swarm yet; nodes pull from the registries. */
export function createSwarmWorld({
  clock,
  registries,
  seed,
}: {
  readonly clock: Clock;
  readonly registries: RegistryStore | undefined;
  readonly seed: string;
}): SwarmWorld {
  return {
    clock,
    later: createLater(clock),
    ids: createIdSource(`${seed} swarm`),
    behaviourOf: async (reference, credentials) => {
      try {
        const manifest = await registries?.fetch(parseImageReference(reference), { credentials });
        const image = manifest?.kind === 'index' ? manifest.images[0] : manifest?.image;
        if (image === undefined) return undefined;
        const { behaviour, config } = image;
        return { behaviour, hasHealthcheck: config.Healthcheck !== undefined && config.Healthcheck !== null };
      } catch {
        // A node says no more than that it has no such image.
        return undefined;
      }
    },
    nodes: new Map(),
    services: new Map(),
    tasks: new Map(),
    failures: new Map(),
    place: 'none',
    taskHistory: 5,
    index: 10,
  };
}
