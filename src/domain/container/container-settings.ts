/**
 * The parts of an inspection that a successor is made from. They keep the field names of the Docker Engine API (`Env`,
 * `HostConfig`, …), because they must reach the successor verbatim, unknown fields included:
 * https://docs.docker.com/reference/api/engine/
 */
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
  readonly Runtime?: string;
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
