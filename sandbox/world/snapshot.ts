import type { Container } from '../../src/domain/container/container.ts';
import { inspectContainer } from './view.ts';
import type { HostPort, World } from './world.ts';

/** The state of the engine at one time, as plain data for assertions. */
export type Snapshot = {
  /** By name. */
  readonly containers: Readonly<Record<string, SnapshotContainer>>;
  /** Image ids by tag. */
  readonly tags: Readonly<Record<string, string>>;
  readonly imageIds: readonly string[];
  /** Content of each volume, by name. */
  readonly volumes: Readonly<Record<string, string>>;
  readonly networks: readonly string[];
};

export type SnapshotContainer = Container & {
  readonly running: boolean;
  readonly manuallyStopped: boolean;
  readonly hostPorts: readonly HostPort[];
};

export function takeSnapshot(world: World): Snapshot {
  const containers = [...world.containers.values()].map((container) => {
    const { process, manuallyStopped, hostPorts } = container;
    return [
      container.name,
      { ...inspectContainer(world, container), running: process !== undefined, manuallyStopped, hostPorts },
    ] as const;
  });
  return {
    containers: Object.fromEntries(containers),
    tags: Object.fromEntries(world.tags),
    imageIds: [...world.images.keys()],
    volumes: Object.fromEntries([...world.volumes.values()].map(({ name, marker }) => [name, marker])),
    networks: [...world.networks.keys()],
  };
}
