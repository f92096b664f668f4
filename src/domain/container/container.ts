import type { Digest } from '../image/image-reference.ts';
import type { Platform } from '../image/platform.ts';
import { ServiceError } from '../text/errors.ts';
import { quoted } from '../text/printable.ts';

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
  /** The platform that it runs of its image. Present if that is not the engine's own. */
  readonly platform?: Platform;
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
  readonly state: {
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
  readonly restartCount: number;
  /** The platform that it runs of its image. Present if the engine keeps several under one id. */
  readonly platform?: Platform;
  /** The manifest that it runs of its image. Present if the engine names images by their index or manifest. */
  readonly manifestDigest?: Digest;
  /**
   * The parts of an inspection that a successor is made from. They keep the field names of the Docker Engine API (`Env`,
   * `HostConfig`, …), because they must reach the successor verbatim, unknown fields included:
   * https://docs.docker.com/reference/api/engine/
   */
  readonly settings: {
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
  /** Absent when the engine no longer has the image, or does not know its configuration. */
  readonly imageLabels?: Readonly<Record<string, string>>;
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

/** A volume or folder of a container that an update copies. */
export type DataItem = {
  /** In the container, sorted. */
  readonly paths: readonly string[];
  /** An entry of `HostConfig.Mounts` without `Target` and `ReadOnly`. */
  readonly mount: NonNullable<HostConfig['Mounts']>[number];
  /** `volume "data"`, `folder "/srv/apps/web"` */
  readonly title: string;
  /**
   * The folder of `--data-folders` that allows a folder of the host. Who may write to that folder can put a symbolic
   * link into the path of the mount, at any time, so its use must be checked where the mount is used.
   */
  readonly below?: string;
  /** Where the engine keeps it, as a path of the host. */
  readonly source: string;
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

/** Input of `recipeFor()`. */
export type RecipeRequest = {
  readonly container: Container;
  /** The image that the container was created from. Undefined when the engine no longer has it. */
  readonly oldImage: Image | undefined;
  /** `Config.Image` of the successor: the old text, or the old form with a new digest. */
  readonly image: string;
  readonly newImageId: string;
  /** The value of compose's label for the image: the image of the reference in its file. Default: the new one. */
  readonly composeImageId?: string | undefined;
  /** Labels to add; every name begins with `upkeep.tx.`. */
  readonly journal: Readonly<Record<string, string>>;
  /** The version in use for inspections and creations, such as `1.41`. */
  readonly apiVersion: string;
  /** The engine's own name, which containers on the host network have as their host name. */
  readonly engineName: string;
  readonly enginePlatform: Platform;
  /** Networks that exist now. */
  readonly networks: readonly Network[];
  /**
   * The ids of successors, by the id of each container that is replaced in the same transaction, and by its name,
   * because legacy links use names.
   */
  readonly replacedIds: ReadonlyMap<string, string>;
  /** Anonymous volumes are not kept: the successor gets new ones. */
  readonly freshVolumes?: boolean;
  /** The engine cannot change a restart policy later, so the successor is created with its final one. */
  readonly policyFromStart?: boolean;
  /** Fields of `HostConfig` to omit. */
  readonly leftOut?: ReadonlySet<string>;
};

/** A request with the old image. Inherited values can be recognised only with it. */
export type KnownRequest = RecipeRequest & { readonly oldImage: Image };

/** A rule for one field of the recipe. Undefined omits the field. */
export type FieldRule = (request: KnownRequest) => unknown;

/** The fields by their rules. A field without a rule is copied. */
export function applyRules(
  fields: readonly (readonly [string, unknown])[],
  rules: ReadonlyMap<string, FieldRule>,
  request: KnownRequest,
): Readonly<Record<string, unknown>> {
  const made = fields.map(([field, value]) => [field, (rules.get(field) ?? (() => value))(request)] as const);
  return Object.fromEntries(made.filter(([, value]) => value !== undefined));
}

/** The request that creates a successor. */
export type ContainerRecipe = {
  /** The body of `POST /containers/create`. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Given only when the image's platform is not the engine's own. */
  readonly platform?: Platform;
  /** Networks to connect after the create, because an engine below API 1.44 takes one endpoint at create. */
  readonly laterEndpoints: readonly {
    readonly networkId: string;
    readonly networkName: string;
    readonly endpoint: Endpoint;
  }[];
};

/** The error for a container that cannot be reproduced. */
export function refusal({ name }: Container, why: string, remedy?: string): ServiceError {
  return new ServiceError('invalid-input', `Cannot update ${quoted(name)}: ${why}`, { remedy });
}

/** An engine stores an omitted policy as empty or as `no`. Both mean the same. */
export function samePolicy(one: RestartPolicy, other: RestartPolicy): boolean {
  const name = (policy: RestartPolicy) => (policy.Name === '' ? 'no' : policy.Name);
  const retries = (policy: RestartPolicy) => (policy.Name === 'on-failure' ? policy.MaximumRetryCount : 0);
  return name(one) === name(other) && retries(one) === retries(other);
}

export const noRestart: RestartPolicy = { Name: 'no', MaximumRetryCount: 0 };
