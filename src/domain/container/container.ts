import type { Digest } from '../image/image-reference.ts';
import type { Platform } from '../image/platform.ts';
import type { ContainerSettings, ImageConfig, RestartPolicy } from './container-settings.ts';

/** Containers and images as the engine describes them: https://docs.docker.com/reference/api/engine/ */

/** Docker's states; `stopped` of Podman is read as `exited`. */
export const containerStatuses = ['created', 'running', 'paused', 'restarting', 'removing', 'exited', 'dead'] as const;

export type ContainerStatus = (typeof containerStatuses)[number];

/** `none`: the container has no HEALTHCHECK, or it is disabled with `NONE`. */
export const healthStatuses = ['none', 'starting', 'healthy', 'unhealthy'] as const;

export type HealthStatus = (typeof healthStatuses)[number];

/** One entry of the engine's container list. It is enough for selection and staleness, without an inspection. */
export type ContainerSummary = {
  /** 64 hex digits. */
  readonly id: string;
  /** Without the leading slash. A container without a name, left by an engine failure, has its short id here. */
  readonly name: string;
  /** The image as the list shows it: a reference, or a bare id once the tag has moved. */
  readonly image: string;
  /** `sha256:…` */
  readonly imageId: string;
  readonly status: ContainerStatus;
  readonly health: HealthStatus;
  readonly labels: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch, by the engine's clock. */
  readonly createdAtMs: number;
  /** `HostConfig.NetworkMode`, e.g. `bridge`, `container:<id>`. */
  readonly networkMode: string;
  /** The manifest that it runs of its image. Present if the engine names images by their index or manifest. */
  readonly manifestDigest?: Digest;
  /** Absent without any port, address and mount. Podman lists no mounts. */
  readonly reach?: ContainerReach;
};

/** How others reach a container, and what it reaches itself, as far as the list shows. */
export type ContainerReach = {
  /** `hostPort` is 0 for a port that is only exposed; an empty `hostAddress` means every address of the host. */
  readonly ports: readonly {
    readonly protocol: string;
    readonly port: number;
    readonly hostPort: number;
    readonly hostAddress: string;
  }[];
  /** Of a running container. An empty address: none, as in the network of the host. */
  readonly networks: readonly { readonly id: string; readonly address: string; readonly gateway: string }[];
  /** `source` is a path of the host; a volume has one too. */
  readonly mounts: readonly { readonly source: string; readonly target: string }[];
};

/** One inspected container, with the labels of its image. */
export type Container = {
  readonly id: string;
  readonly name: string;
  readonly imageId: string;
  readonly createdAtMs: number;
  readonly state: ContainerState;
  readonly restartCount: number;
  /** The platform that it runs of its image. Present if the engine keeps several under one id. */
  readonly platform?: Platform;
  /** The manifest that it runs of its image. Present if the engine names images by their index or manifest. */
  readonly manifestDigest?: Digest;
  readonly settings: ContainerSettings;
  /** Absent when the engine no longer has the image, or does not know its configuration. */
  readonly imageLabels?: Readonly<Record<string, string>>;
};

export type ContainerState = {
  readonly status: ContainerStatus;
  readonly exitCode: number;
  /** The engine's message about a failed start; empty without one. */
  readonly error: string;
  readonly oomKilled: boolean;
  /** The engine's own timestamp, verbatim: it changes with every start. Empty when never started. */
  readonly startedAt: string;
  /** The same for the last end; empty if it has never ended. */
  readonly finishedAt: string;
  readonly health: HealthStatus;
  /** The output of the last health probe, at most 4 kB. */
  readonly healthOutput: string;
};

/** One line of the engine's image list. */
export type ImageSummary = {
  readonly id: string;
  /** `repository:tag` as the engine prints them; empty for a dangling image. */
  readonly tags: readonly string[];
  /** `repository@sha256:…` */
  readonly digests: readonly string[];
  /** Labels that containers inherit; absent: none. */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * The engine has the image and does not know its configuration and labels. In Docker's containerd image store: a layer
   * was not downloaded, because it was there from another image in another compression.
   */
  readonly isConfigUnknown?: true;
  /** Why the configuration cannot be read from the registry either. Absent: it was not asked. */
  readonly configFault?: string;
  /** The manifest whose configuration this is. Present if it was read from the registry. */
  readonly configManifest?: Digest;
  /** The build time, milliseconds since the epoch. Absent or 0: unknown. */
  readonly createdAtMs?: number;
};

/** One image, inspected. */
export type Image = ImageSummary & {
  readonly os: string;
  readonly architecture: string;
  readonly variant: string;
  readonly createdAtMs: number;
  /** The defaults that containers of this image inherit. */
  readonly config: ImageConfig;
};

/** The effective policy. An empty name in an engine means `no`. */
export function restartPolicyOf(container: Container): RestartPolicy {
  const policy = container.settings.HostConfig.RestartPolicy;
  return { Name: policy?.Name ?? '', MaximumRetryCount: policy?.MaximumRetryCount ?? 0 };
}

/** Whether the container has a process. A paused one has. */
export function isAlive(status: ContainerStatus): boolean {
  return status === 'running' || status === 'paused' || status === 'restarting';
}

/** Twelve hex digits, the usual short form of an id. */
export function shortId(id: string): string {
  return id.replace(/^sha256:/, '').slice(0, 12);
}

/** `recipe`: the body of the request that creates the network again. */
export type Network = {
  readonly id: string;
  readonly name: string;
  readonly driver: string;
  readonly recipe: object;
};

export type Volume = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch, by the engine's clock, in whole seconds. 0: unknown. */
  readonly createdAtMs: number;
};
