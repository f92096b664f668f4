import type { ContainerRecipe } from '../../src/domain/container/recipe/request/request.ts';
import { startEngine, stopEngine, type RestartKind } from '../containers/boot.ts';
import { createContainer } from '../containers/create.ts';
import { placeFile } from '../containers/files.ts';
import { storeImage, tagImage } from '../images/images.ts';
import { startContainer, stopContainer } from '../containers/lifecycle.ts';
import { getContainer } from '../world/lookup.ts';
import { renameContainer } from '../world/names.ts';
import { isBuiltIn } from '../networks/endpoints.ts';
import { createNetwork, pruneNetworks } from '../networks/networks.ts';
import { endProcess } from '../containers/processes.ts';
import { buildRelease, type Release, type SandboxImage } from '../registry/release.ts';
import { pruneContainers, removeContainer } from '../containers/remove.ts';
import { takeSnapshot, type Snapshot } from '../world/snapshot.ts';
import { ensureVolume } from '../world/volumes.ts';
import { engineNowMs, type SandboxExecution, type SandboxFile, type World } from '../world/world.ts';

/** Actions of people and other programs on the engine, and facts for tests. These are not counted as calls. */
export type SandboxControl = {
  /** Puts an image into the engine without a registry, as `docker load` and `docker build` do. */
  readonly addImage: (reference: string, release: Release) => SandboxImage;
  readonly addNetwork: (name: string, options?: { readonly subnet?: string; readonly driver?: string }) => string;
  /** Writes a marker into a volume, which the snapshot shows; creates the volume if it is missing. */
  readonly markVolume: (name: string, marker: string) => void;
  /** `docker create`; returns the id. */
  readonly addContainer: (name: string, body: ContainerRecipe['body']) => string;
  /** `docker run -d`, started `agoMs` ago; returns the id. */
  readonly runContainer: (name: string, body: ContainerRecipe['body'], agoMs?: number) => string;
  readonly startContainer: (idOrName: string) => void;
  /** Writes a file as compose and `docker cp` do. */
  readonly placeFile: (idOrName: string, path: string, file: Partial<SandboxFile>) => void;
  /** Its changed files, by path. */
  readonly filesOf: (idOrName: string) => ReadonlyMap<string, SandboxFile>;
  /** `docker stop`; `docker kill` with a timeout of 0. */
  readonly stopContainer: (idOrName: string, timeoutSeconds?: number) => Promise<void>;
  /** Ends its process; the restart policy applies. */
  readonly endProcess: (idOrName: string, exitCode: number) => void;
  readonly renameContainer: (idOrName: string, name: string) => void;
  /** `docker rm -f`, with `-v` on request. */
  readonly removeContainer: (idOrName: string, options?: { readonly withVolumes: boolean }) => void;
  /** `docker container prune`. */
  readonly pruneContainers: () => void;
  /** `docker network prune`. */
  readonly pruneNetworks: () => void;
  readonly tagImage: (idOrReference: string, reference: string) => void;
  /** `docker rmi -f`: containers of the image stay, and can still be started. */
  readonly removeImageByForce: (imageId: string) => void;
  /** Another process takes or frees a port of the host, e.g. `8080/tcp`. */
  readonly occupyPort: (port: string) => void;
  readonly freePort: (port: string) => void;
  readonly fillDisk: () => void;
  readonly freeDisk: () => void;
  /** Takes the engine down, and starts it again after `downForMs`. */
  readonly restartEngine: (kind: RestartKind, downForMs?: number) => Promise<void>;
  readonly stopEngine: (kind: RestartKind) => void;
  readonly startEngine: () => void;
  readonly snapshot: () => Snapshot;
  /** The commands that were run in containers, oldest first. */
  readonly executions: readonly SandboxExecution[];
  /** Removes containers, volumes and networks; running operations are cancelled. */
  readonly reset: () => void;
  /** Cancels all scheduled actions, so that nothing keeps the process alive. */
  readonly close: () => void;
};

export function createControl(world: World): SandboxControl {
  const addContainer = (name: string, body: ContainerRecipe['body']) => createContainer(world, name, { body }).id;
  return {
    addImage: (reference, release) => {
      const manifest = buildRelease(release);
      const image = manifest.kind === 'image' ? manifest.image : manifest.images[0];
      if (image === undefined) throw new Error('a release without platforms has no image');
      storeImage(world, image);
      tagImage(world, image.id, reference);
      return image;
    },
    addNetwork: (name, options) => createNetwork(world, name, options).id,
    markVolume: (name, marker) => void (ensureVolume(world, name).marker = marker),
    addContainer,
    runContainer: (name, body, agoMs = 0) => {
      const id = addContainer(name, body);
      const container = getContainer(world, id);
      startContainer(world, container);
      if (agoMs > 0)
        container.state = { ...container.state, startedAt: new Date(engineNowMs(world) - agoMs).toISOString() };
      return id;
    },
    placeFile: (idOrName, path, file) => placeFile(world, getContainer(world, idOrName), path, file),
    filesOf: (idOrName) => getContainer(world, idOrName).files,
    startContainer: (idOrName) => void startContainer(world, getContainer(world, idOrName)),
    stopContainer: async (idOrName, timeoutSeconds) => {
      await stopContainer(world, getContainer(world, idOrName), timeoutSeconds === undefined ? {} : { timeoutSeconds });
    },
    endProcess: (idOrName, exitCode) => endProcess(world, getContainer(world, idOrName), exitCode),
    renameContainer: (idOrName, name) => renameContainer(world, getContainer(world, idOrName), name),
    removeContainer: (idOrName, { withVolumes } = { withVolumes: false }) =>
      removeContainer(world, getContainer(world, idOrName), { withVolumes }),
    pruneContainers: () => pruneContainers(world),
    pruneNetworks: () => pruneNetworks(world),
    tagImage: (idOrReference, reference) => tagImage(world, idOrReference, reference),
    removeImageByForce: (imageId) => {
      for (const [tag, id] of world.tags) if (id === imageId) world.tags.delete(tag);
      world.images.delete(imageId);
    },
    occupyPort: (port) => void world.foreignPorts.add(port),
    freePort: (port) => void world.foreignPorts.delete(port),
    fillDisk: () => void (world.condition.diskFull = true),
    freeDisk: () => void (world.condition.diskFull = false),
    restartEngine: async (kind, downForMs = 0) => {
      stopEngine(world, kind);
      if (downForMs > 0) await world.clock.sleep(downForMs);
      startEngine(world);
    },
    stopEngine: (kind) => stopEngine(world, kind),
    startEngine: () => startEngine(world),
    snapshot: () => takeSnapshot(world),
    executions: world.executions,
    reset: () => reset(world),
    close: () => {
      world.condition.connection.abort();
      world.later.callOffAll();
    },
  };
}

function reset(world: World): void {
  for (const container of world.containers.values()) removeContainer(world, container, { withVolumes: true });
  world.later.callOffAll();
  world.volumes.clear();
  for (const network of world.networks.values()) if (!isBuiltIn(network)) world.networks.delete(network.name);
}
