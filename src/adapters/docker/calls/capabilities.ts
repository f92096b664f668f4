import { supportsApi } from '../../../domain/container/recipe/networks.ts';
import type { EngineVersion } from '../transport/client.ts';

/**
 * The differences between engines and API versions that affect the calls of this adapter. The recipe handles the
 * differences in containers' settings.
 */
export type Capabilities = {
  /** `POST /containers/{id}/stop` accepts a signal; older versions ignore it. */
  readonly stopSignal: boolean;
  /**
   * A stop also works while the restart policy is about to start the container. Podman reports this container as
   * stopped and then starts it.
   */
  readonly stopsBetweenTries: boolean;
  /** `POST /containers/{id}/update` accepts a restart policy: Podman from version 5. */
  readonly restartPolicies: boolean;
  /**
   * The engine runs HEALTHCHECKs itself. Podman leaves them to systemd timers, and does not show whether these exist.
   */
  readonly healthProbes: boolean;
  /** The engine sends an event after `docker container prune`: Docker since 1.41, the oldest supported version. */
  readonly tellsOfPrunes: boolean;
  /** The engine describes containers and images as Docker does. Podman's answers go through `podman/`. */
  readonly dockerWords: boolean;
};

/** https://docs.docker.com/reference/api/engine/version-history/ */
const stopSignalSince = '1.42';

export function capabilitiesOf({ kind, product, apiVersion }: EngineVersion): Capabilities {
  const podman = kind === 'podman';
  return {
    stopSignal: supportsApi(apiVersion, stopSignalSince),
    stopsBetweenTries: !podman,
    restartPolicies: !podman || Number.parseInt(product, 10) >= 5,
    healthProbes: !podman,
    tellsOfPrunes: !podman,
    dockerWords: !podman,
  };
}

/** Engine messages that identify a failure where the status is not enough. */
export const errorPatterns = {
  /** Docker: 409 "The container name … is already in use by container …". Podman: 500 "… that name is already in use". */
  nameTaken: /\bname\b.{0,300} is already in use/i,
  /** Podman: 500 "container … does not exist in database: no such container", for a container that is being removed. */
  absent: /does not exist in database: no such container/i,
  /**
   * Docker records this in the container's state. Podman says "… OCI runtime attempted to invoke a command that was not
   * found", or "… OCI permission denied".
   */
  commandUnusable: /OCI runtime attempted to invoke a command that was not found|OCI permission denied/i,
  /** Docker: 500 "Cannot link to a non running container: /db AS /web/db". Podman has no links. */
  linkBroken: /cannot link to a non running container/i,
  /**
   * Docker with containerd's image store, 500 and 404: "failed to create an image … with target … after deleting the
   * existing one: AlreadyExists: …", "creating image … failed because it already exists, but accessing it also failed".
   */
  tagMoved: /after deleting the existing one: AlreadyExists|failed because it already exists, but accessing it also/i,
  /**
   * Docker answers 409. Podman: 500 "unable to delete image … by ID with more than one tag …: please force removal".
   */
  severalTags: /by ID with more than one tag/i,
  /** Docker: 403 "endpoint with name … already exists in network …". Podman: "… is already connected to network …". */
  alreadyConnected: /already (?:exists in|connected to) network/i,
  /** Podman: 500 "read /proc/18744/cgroup: no such process", for a process that ends during the inspection. */
  processEnded: /^\w+ \/proc\/\d+\/\w+: no such (?:process|file or directory)/i,
  /** Docker: 409 "network with name … already exists". Podman: 500 "network name … already used: …". */
  networkTaken: /network (?:with )?name .{0,300} already (?:exists|used)/i,
  /** Docker: 409 "removal of container … is already in progress". */
  removalInProgress: /removal of container .{0,300} is already in progress/i,
} as const;

/** Podman's event names, with Docker's names for them. */
export const podmanActions: ReadonlyMap<string, string> = new Map([
  ['died', 'die'],
  ['remove', 'destroy'],
]);

/** Podman's states that Docker does not have. Other unknown states count as `exited`. */
export const podmanStates = [
  ['configured', 'created'],
  ['initialized', 'created'],
  ['stopping', 'running'],
  ['stopped', 'exited'],
] as const;

/** Podman matches names without the leading slash, Docker with it. */
export function namePattern(prefix: string): string {
  return `^/?${prefix.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}`;
}
