/**
 * Containers and images as the engine describes them. Settings keep the field names of the Docker Engine
 * API (`Env`, `HostConfig`, …), because they must reach the successor verbatim, unknown fields included:
 * https://docs.docker.com/reference/api/engine/
 */

/** Docker's states; `stopped` of Podman is read as `exited`. */
export type ContainerStatus = 'created' | 'running' | 'paused' | 'restarting' | 'removing' | 'exited' | 'dead';

/** `none`: the container has no HEALTHCHECK, or it is disabled with `NONE`. */
export type HealthStatus = 'none' | 'starting' | 'healthy' | 'unhealthy';

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
};

/** One inspected container, with the labels of its image. */
export type Container = {
  readonly id: string;
  readonly name: string;
  readonly imageId: string;
  readonly createdAtMs: number;
  readonly state: ContainerState;
  readonly restartCount: number;
  readonly settings: ContainerSettings;
  /** Absent when the engine no longer has the image. */
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

/** The parts of an inspection that a successor is made from, unchanged. */
export type ContainerSettings = {
  readonly Config: ContainerConfig;
  readonly HostConfig: HostConfig;
  readonly Mounts: readonly MountPoint[];
  /** By network name, as `NetworkSettings.Networks`. */
  readonly Networks: Readonly<Record<string, Endpoint>>;
  /**
   * Why no successor can be made from these settings, as text that follows the name ("is …", "has …"). Absent for
   * nearly every container.
   */
  readonly obstacle?: string;
};

type Open = { readonly [field: string]: unknown };

export type ContainerConfig = ImageConfig & { readonly Image: string };

/** Settings that containers inherit from their image by default. */
export type ImageConfig = Open & {
  readonly Hostname?: string;
  readonly Domainname?: string;
  readonly User?: string;
  readonly Env?: readonly string[] | null;
  readonly Cmd?: readonly string[] | null;
  readonly Entrypoint?: readonly string[] | null;
  readonly Labels?: Readonly<Record<string, string>> | null;
  readonly ExposedPorts?: Readonly<Record<string, object>> | null;
  readonly Volumes?: Readonly<Record<string, object>> | null;
  readonly Healthcheck?: Healthcheck | null;
  readonly WorkingDir?: string;
  readonly StopSignal?: string;
  /** Seconds. */
  readonly StopTimeout?: number | null;
  readonly MacAddress?: string;
};

/** Durations in nanoseconds, as the engine keeps them. */
export type Healthcheck = Open & {
  readonly Test?: readonly string[] | null;
  readonly Interval?: number;
  readonly Timeout?: number;
  readonly StartPeriod?: number;
  readonly StartInterval?: number;
  readonly Retries?: number;
};

export type RestartPolicy = { readonly Name: string; readonly MaximumRetryCount: number };

export type HostConfig = Open & {
  readonly NetworkMode?: string;
  readonly IpcMode?: string;
  readonly PidMode?: string;
  readonly UTSMode?: string;
  readonly RestartPolicy?: { readonly Name: string; readonly MaximumRetryCount?: number } | null;
  readonly AutoRemove?: boolean;
  readonly Privileged?: boolean;
  readonly Binds?: readonly string[] | null;
  readonly Mounts?: readonly Open[] | null;
  readonly VolumesFrom?: readonly string[] | null;
  readonly Links?: readonly string[] | null;
  readonly PortBindings?: Readonly<Record<string, readonly PortBinding[] | null>> | null;
  readonly PublishAllPorts?: boolean;
};

export type PortBinding = { readonly HostIp?: string; readonly HostPort?: string };

export type MountPoint = Open & {
  readonly Type?: string;
  readonly Name?: string;
  readonly Source?: string;
  readonly Destination: string;
  readonly Mode?: string;
  readonly RW?: boolean;
};

export type Endpoint = Open & {
  readonly NetworkID?: string;
  readonly Aliases?: readonly string[] | null;
  readonly Links?: readonly string[] | null;
  readonly IPAMConfig?: Open | null;
  readonly DriverOpts?: Readonly<Record<string, string>> | null;
  readonly MacAddress?: string;
  readonly GwPriority?: number;
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

export type Network = { readonly id: string; readonly name: string; readonly driver: string };
