import { speaksApi } from '../../../domain/container/api-version.ts';
import type { EngineVersion } from '../transport/version.ts';

/**
 * Differences between engines and API versions in the calls of this folder, all in one place. Differences
 * in containers' settings belong to the recipe.
 */
export type Capabilities = {
  /** `POST /containers/{id}/stop` takes a signal; older ones would ignore it. */
  readonly stopSignal: boolean;
  /** A stop reaches a container that its restart policy is about to start again. Podman calls that one stopped already, and starts it all the same. */
  readonly stopsBetweenTries: boolean;
  /** `POST /containers/{id}/update` takes a restart policy: Podman's does from version 5 on. */
  readonly restartPolicies: boolean;
  /** The engine runs HEALTHCHECKs itself. Podman leaves them to timers of systemd, and does not say whether there are any. */
  readonly healthProbes: boolean;
  /** It tells when somebody has had all stopped containers removed: Docker since 1.41, the oldest that we speak. */
  readonly tellsOfPrunes: boolean;
  /** It speaks of containers and images in Docker's words and leaves nothing out; Podman's need `podman/`. */
  readonly dockerWords: boolean;
};

/** https://docs.docker.com/reference/api/engine/version-history/ */
const stopSignalSince = '1.42';

export function capabilitiesOf({ kind, product, apiVersion }: EngineVersion): Capabilities {
  const podman = kind === 'podman';
  return {
    stopSignal: speaksApi(apiVersion, stopSignalSince),
    stopsBetweenTries: !podman,
    restartPolicies: !podman || Number.parseInt(product, 10) >= 5,
    healthProbes: !podman,
    tellsOfPrunes: !podman,
    dockerWords: !podman,
  };
}

/** Engine messages for the same failure, where the status is not enough. */
export const mishaps = {
  /** Docker: 409 "The container name … is already in use by container …". Podman: 500 "… that name is already in use". */
  nameTaken: /\bname\b.{0,300} is already in use/i,
  /** Podman: 500 "container … does not exist in database: no such container", for one that is being removed. */
  absent: /does not exist in database: no such container/i,
  /** Docker notes it in the container's state. Podman says "… OCI runtime attempted to invoke a command that was not found", or "… OCI permission denied". */
  commandUnusable: /OCI runtime attempted to invoke a command that was not found|OCI permission denied/i,
  /** Docker: 500 "Cannot link to a non running container: /db AS /web/db". Podman has no links. */
  linkBroken: /cannot link to a non running container/i,
  /** Docker: 409 of itself. Podman: 500 "unable to delete image … by ID with more than one tag …: please force removal". */
  severalTags: /by ID with more than one tag/i,
  /** Docker: 403 "endpoint with name … already exists in network …". Podman: "… is already connected to network …". */
  alreadyConnected: /already (?:exists in|connected to) network/i,
  /** Docker: 409 "removal of container … is already in progress". */
  removalInProgress: /removal of container .{0,300} is already in progress/i,
} as const;

/** Podman's event names, with Docker's names for them. */
export const podmanActions: ReadonlyMap<string, string> = new Map([
  ['died', 'die'],
  ['remove', 'destroy'],
]);

/** Podman's states that are none of Docker's; every other unknown one counts as `exited`. */
export const podmanStates = [
  ['configured', 'created'],
  ['initialized', 'created'],
  ['stopping', 'running'],
  ['stopped', 'exited'],
] as const;

/** Podman matches a name without its slash, Docker with it. */
export function namePattern(prefix: string): string {
  return `^/?${prefix.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}`;
}
