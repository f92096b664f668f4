import type {
  ContainerRecipe,
  ContainerConfig,
  Endpoint,
  HostConfig,
  MountPoint,
  Container,
  Image,
  Network,
} from '../../../src/domain/container/container.ts';
import { idOf, runningState } from '../scene/builders.ts';

export type EngineTraits = {
  readonly apiVersion: string;
  readonly engineName: string;
  readonly networks: readonly Network[];
  /** Names of existing containers by id. */
  readonly containers?: ReadonlyMap<string, string>;
};

export type CreateBody = Partial<ContainerConfig> & {
  readonly HostConfig?: HostConfig;
  readonly NetworkingConfig?: { readonly EndpointsConfig?: Readonly<Record<string, Endpoint>> };
};

/**
 * Inspection of a started container from its create body and image: rules measured with Docker 20.10, 26
 * and 28, in one pure function. Throws where an engine refuses.
 */
export function inspectCreated(
  { name, id = idOf(`container ${name}`) }: { readonly name: string; readonly id?: string },
  { body, laterEndpoints }: Pick<ContainerRecipe, 'laterEndpoints'> & { readonly body: CreateBody },
  image: Image,
  engine: EngineTraits,
): Container {
  const { HostConfig: asked = {}, NetworkingConfig, ...config } = body;
  const mode = asked.NetworkMode ?? 'default';
  refuseConflicts(config, asked);
  const merged = withDefaults(config as ContainerConfig, image.config);
  const hostname = config.Hostname || (mode === 'host' ? engine.engineName : id.slice(0, 12));
  const Config: ContainerConfig = {
    ...merged,
    Hostname: mode.startsWith('container:') ? 'of-the-other' : hostname,
  };
  const requested = Object.entries(NetworkingConfig?.EndpointsConfig ?? {});
  if (requested.length > 1 && minor(engine) < 44) throw new Error('400: more than one endpoint');
  const atCreate = requested.length > 0 ? requested : [[mode === 'default' ? 'bridge' : mode, {}] as const];
  const later = laterEndpoints.map(({ networkName, endpoint }) => [networkName, endpoint] as const);
  const isApart = mode.startsWith('container:') || config['NetworkDisabled'] === true;
  const networks = isApart ? [] : [...atCreate, ...later];
  return {
    id,
    name,
    imageId: image.id,
    createdAtMs: 0,
    restartCount: 0,
    state: runningState,
    settings: {
      Config: macShown(Config, networks, mode, engine),
      HostConfig: hostConfigShown(name, asked, engine),
      Mounts: mountsOf(id, asked, merged),
      Networks: Object.fromEntries(
        networks.map(([network, endpoint], index) => [
          network,
          endpointShown(id, Config, network, endpoint, index, engine),
        ]),
      ),
    },
  };
}

function refuseConflicts(config: Readonly<Record<string, unknown>>, hostConfig: HostConfig): void {
  const { NetworkMode = '', UTSMode, Dns, ExtraHosts, Links, PortBindings, PublishAllPorts } = hostConfig;
  const refuse = (field: string, value: unknown): void => {
    if (value && (typeof value !== 'object' || Object.keys(value).length > 0))
      throw new Error(`400: conflict of ${field}`);
  };
  if (UTSMode === 'host') refuse('hostname and UTS mode', config['Hostname']);
  if (!NetworkMode.startsWith('container:')) return;
  const conflicts = { Dns, ExtraHosts, Links, PortBindings, PublishAllPorts };
  for (const [field, value] of Object.entries(conflicts)) refuse(field, value);
  for (const field of ['Hostname', 'MacAddress', 'ExposedPorts']) refuse(field, config[field]);
}

/** https://github.com/moby/moby/blob/v28.0.0/daemon/commit.go, and the reset of `[""]` after it */
function withDefaults(own: ContainerConfig, image: Image['config']): ContainerConfig {
  const env = [...(own.Env ?? [])];
  for (const line of image.Env ?? []) {
    if (!env.some((other) => other.split('=')[0] === line.split('=')[0])) env.push(line);
  }
  const ownEntrypoint = (own.Entrypoint ?? []).length > 0;
  const Cmd = !ownEntrypoint && (own.Cmd ?? []).length === 0 ? image.Cmd : own.Cmd;
  const entrypoint = own.Entrypoint ?? image.Entrypoint ?? null;
  const Entrypoint = entrypoint?.length === 1 && entrypoint[0] === '' ? null : entrypoint;
  if ((Entrypoint ?? []).length === 0 && (Cmd ?? []).length === 0) throw new Error('400: no command specified');
  const both = (a: object | null | undefined, b: object | null | undefined) =>
    Object.keys({ ...a, ...b }).length > 0
      ? Object.fromEntries([...Object.entries(a ?? {}), ...Object.entries(b ?? {})])
      : null;
  const inheritedChecks = Object.entries(image.Healthcheck ?? {}).filter(([field]) => {
    const value = own.Healthcheck?.[field];
    return value === undefined || value === null || value === 0 || (Array.isArray(value) && value.length === 0);
  });
  const check = { ...own.Healthcheck, ...Object.fromEntries(inheritedChecks) };
  return {
    Domainname: '',
    ...own,
    User: own.User || (image.User ?? ''),
    WorkingDir: own.WorkingDir || (image.WorkingDir ?? ''),
    ...(own.StopSignal || image.StopSignal ? { StopSignal: own.StopSignal || image.StopSignal } : {}),
    Env: (own.Env ?? []).length === 0 ? (image.Env ?? null) : env,
    Entrypoint,
    Cmd: Cmd ?? null,
    Labels: both(image.Labels, own.Labels) ?? {},
    ExposedPorts: both(image.ExposedPorts, own.ExposedPorts),
    Volumes: both(image.Volumes, own.Volumes),
    ...(own.Healthcheck || image.Healthcheck ? { Healthcheck: check } : {}),
  };
}

function hostConfigShown(name: string, asked: HostConfig, engine: EngineTraits): HostConfig {
  const Links = asked.Links?.map((link) => {
    const [target = '', alias = target] = link.split(':');
    return `/${engine.containers?.get(target) ?? target}:/${name}/${alias}`;
  });
  const paths = asked.Privileged
    ? { MaskedPaths: null, ReadonlyPaths: null }
    : {
        MaskedPaths: asked['MaskedPaths'] ?? defaultMaskedPaths(engine),
        ReadonlyPaths: asked['ReadonlyPaths'] ?? [
          '/proc/bus',
          '/proc/fs',
          '/proc/irq',
          '/proc/sys',
          '/proc/sysrq-trigger',
        ],
      };
  const swap =
    Number(asked['Memory'] ?? 0) > 0 && !asked['MemorySwap'] ? { MemorySwap: 2 * Number(asked['Memory']) } : {};
  return {
    Binds: null,
    AutoRemove: false,
    ConsoleSize: [0, 0],
    CpuPeriod: 0,
    ...(minor(engine) < 42 ? { KernelMemory: 0 } : {}),
    ShmSize: 67_108_864,
    ...asked,
    ...swap,
    ...paths,
    ...(Links === undefined ? {} : { Links: Links.toReversed() }),
    NetworkMode:
      asked.NetworkMode === undefined || (asked.NetworkMode === 'default' && minor(engine) >= 44)
        ? 'bridge'
        : asked.NetworkMode,
    IpcMode: asked.IpcMode || 'private',
    PidMode: asked.PidMode ?? '',
    RestartPolicy: {
      MaximumRetryCount: 0,
      ...asked.RestartPolicy,
      Name: asked.RestartPolicy?.Name || (minor(engine) < 44 ? '' : 'no'),
    },
  };
}

function defaultMaskedPaths(engine: EngineTraits): readonly string[] {
  const old =
    '/proc/asound /proc/acpi /proc/kcore /proc/keys /proc/latency_stats /proc/timer_list /proc/timer_stats /proc/sched_debug /proc/scsi /sys/firmware';
  return [...old.split(' '), ...(minor(engine) < 44 ? [] : ['/proc/interrupts', '/sys/devices/virtual/powercap'])];
}

/** The order is undefined. */
function mountsOf(id: string, hostConfig: HostConfig, { Volumes }: ContainerConfig): readonly MountPoint[] {
  const mounts = new Map<string, MountPoint>();
  const volume = (path: string, source: string | undefined, mode: string, rw = true): MountPoint => ({
    Type: 'volume',
    Name: source || idOf(`volume ${id} ${path}`),
    Source: `/var/lib/docker/volumes/${source || idOf(`volume ${id} ${path}`)}/_data`,
    Destination: path,
    Driver: 'local',
    Mode: mode,
    RW: rw,
    Propagation: '',
  });
  const add = (path: string, mount: MountPoint): void => {
    if (mounts.has(path)) throw new Error(`400: duplicate mount point ${path}`);
    mounts.set(path, mount);
  };
  for (const bind of hostConfig.Binds ?? []) {
    const [first = '', second, mode = ''] = bind.split(':');
    const path = clean(second ?? first);
    const isFolder = first.startsWith('/') && second !== undefined;
    add(
      path,
      isFolder
        ? { Type: 'bind', Source: first, Destination: path, Mode: mode, RW: mode !== 'ro', Propagation: 'rprivate' }
        : volume(path, second === undefined ? undefined : first, mode || 'z', mode !== 'ro'),
    );
  }
  for (const mount of hostConfig.Mounts ?? []) {
    const { Type, Source, Target, ReadOnly } = mount as Readonly<Record<string, string | undefined>>;
    const path = clean(Target ?? '');
    if (Type === 'volume') add(path, volume(path, Source, 'z', !ReadOnly));
    else
      add(path, {
        Type: Type ?? '',
        Source: Source ?? '',
        Destination: path,
        Mode: '',
        RW: !ReadOnly,
        Propagation: '',
      });
  }
  const tmpfs = new Set(Object.keys((hostConfig['Tmpfs'] as object | undefined) ?? {}));
  for (const path of Object.keys(Volumes ?? {}).map(clean)) {
    if (!mounts.has(path) && !tmpfs.has(path)) add(path, volume(path, undefined, ''));
  }
  return [...mounts.values()].toReversed();
}

function clean(path: string): string {
  return `/${path.split('/').filter(Boolean).join('/')}`;
}

function endpointShown(
  id: string,
  { Hostname, MacAddress }: ContainerConfig,
  network: string,
  endpoint: Endpoint,
  index: number,
  engine: EngineTraits,
): Endpoint {
  const fixed = endpoint.IPAMConfig?.['IPv4Address'];
  const address = typeof fixed === 'string' ? fixed : `10.0.${index}.${Number.parseInt(id.slice(0, 2), 16)}`;
  const isBridge = network === 'bridge' || network === 'host' || network === 'none';
  const added = minor(engine) < 45 && !isBridge ? [id.slice(0, 12), Hostname ?? ''] : [];
  const aliases = [...new Set([...(endpoint.Aliases ?? []), ...added])];
  const configured = endpoint.MacAddress || (index === 0 ? MacAddress : undefined);
  const derived = ['02', '42', ...address.split('.').map((part) => Number(part).toString(16).padStart(2, '0'))];
  return {
    Links: null,
    DriverOpts: null,
    ...(minor(engine) < 48 ? {} : { GwPriority: 0 }),
    ...endpoint,
    IPAMConfig: endpoint.IPAMConfig ?? null,
    Aliases: aliases.length === 0 ? null : aliases,
    NetworkID: engine.networks.find(({ name }) => name === network)?.id ?? idOf(`network ${network}`),
    EndpointID: idOf(`endpoint ${id} ${network}`),
    Gateway: '10.0.0.1',
    IPAddress: address,
    IPPrefixLen: 16,
    MacAddress: network === 'host' || network === 'none' ? '' : configured || derived.join(':'),
    ...(minor(engine) < 44 ? {} : { DNSNames: isBridge ? null : [id.slice(0, 12)] }),
  };
}

/** From 1.44 to 1.51 `Config` repeats settings of the main endpoint. */
function macShown(
  config: ContainerConfig,
  networks: readonly (readonly [string, Endpoint])[],
  mode: string,
  engine: EngineTraits,
): ContainerConfig {
  if (minor(engine) < 44) return config;
  if (config.MacAddress && minor(engine) >= 52) throw new Error('400: container-wide MAC address');
  const main = networks.find(([name]) => name === (mode === 'default' ? 'bridge' : mode))?.[1];
  const { MacAddress = config.MacAddress } = main ?? {};
  return MacAddress && minor(engine) < 52 ? { ...config, MacAddress } : config;
}

function minor({ apiVersion }: EngineTraits): number {
  return Number(apiVersion.split('.')[1]);
}
