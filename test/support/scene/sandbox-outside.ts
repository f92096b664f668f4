import {
  createSandboxEngine,
  type SandboxConnection,
  type SandboxEngine,
  type SandboxEngineOptions,
} from '../../../sandbox/engine/engine.ts';
import { createSandboxRegistry, type SandboxRegistry } from '../../../sandbox/registry/registry.ts';
import type { ServiceEvent } from '../../../src/domain/run/event.ts';
import type { Instance, Log, Outside } from '../../../src/domain/outside/outside.ts';
import { createFakeClock, type FakeClock } from '../clock/fake-clock.ts';

/** A world in memory, with any number of processes of the service in it. */
export type SandboxScene = {
  readonly clock: FakeClock;
  readonly sandbox: SandboxEngine;
  readonly registry: SandboxRegistry;
  /** A new process of the service: with its own connection, which may be killed, and its own identity. */
  readonly startProcess: (connection?: SandboxConnection) => SandboxProcess;
};

export type SandboxProcess = {
  readonly outside: Outside;
  readonly connection: SandboxConnection;
  readonly events: readonly ServiceEvent[];
  /** Its log: warnings and errors only. */
  readonly complaints: readonly string[];
};

export type SandboxSceneOptions = Partial<SandboxEngineOptions> & {
  /** This number of nodes forms a swarm. The engine is its manager, and the service watches it. */
  readonly swarmNodes?: number;
};

export function createSandboxScene({ swarmNodes = 0, ...options }: SandboxSceneOptions = {}): SandboxScene {
  const clock = createFakeClock({ auto: true });
  const registry = createSandboxRegistry({ clock });
  const sandbox = createSandboxEngine({ clock, registries: registry.store, ...options });
  if (swarmNodes > 0) sandbox.swarmControl.form(swarmNodes);
  const owners = new Map<string, SandboxConnection>();
  let ids = 0;
  return {
    clock,
    sandbox,
    registry,
    startProcess: (connection = sandbox.connect()) => {
      const owner = `process ${owners.size + 1}`;
      owners.set(owner, connection);
      const instance: Instance = {
        owner,
        containerId: undefined,
        isMainProcess: false,
        transactions: new Set(),
        ownerState: (other) => {
          if (other === owner) return 'self';
          const known = owners.get(other);
          if (known === undefined) return 'unknown';
          return known.isDead() ? 'dead' : 'alive';
        },
      };
      const events: ServiceEvent[] = [];
      const complaints: string[] = [];
      const complain = (message: string) => void complaints.push(message);
      const log: Log = { debug: () => {}, info: () => {}, warn: complain, error: complain };
      const publish = (event: ServiceEvent) => void events.push(event);
      const newId = () => `id-${(ids += 1)}`;
      return {
        outside: {
          engine: connection.engine,
          ...(swarmNodes > 0 && { swarm: connection.swarm }),
          registry: registry.registry,
          prober: connection.prober,
          clock,
          log,
          instance,
          newId,
          publish,
        },
        connection,
        events,
        complaints,
      };
    },
  };
}
