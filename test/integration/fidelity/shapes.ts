import type { Inspected } from '../../lab/engine/engine-client.ts';
import { idleCommand } from './images.ts';

/** A way in which users configure containers, as a raw body of `POST /containers/create`. */
export type Shape = {
  readonly name: string;
  /** `FRONT` becomes the id of the network `front`, `OTHER` the id of the container `other`. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Networks to connect before the start, with their endpoints. */
  readonly connect?: Readonly<Record<string, object>>;
  /** Networks to leave before the start. */
  readonly disconnect?: readonly string[];
  /** The body of a container `other`, which is created and started before. */
  readonly other?: Readonly<Record<string, unknown>>;
  /** It needs a feature that not every machine has, so it is created but never started. */
  readonly created?: true;
  /** After a stop it is removed, or its engine, from 28 on, no longer shows the MAC address of its second network. */
  readonly changesWhenStopped?: true;
  /** The engine's API must know it. */
  readonly since?: `1.${number}`;
  /** Newer engines refuse it. */
  readonly until?: `1.${number}`;
  /** Further values that must stay the same while it runs. */
  readonly keeps?: (container: Inspected) => unknown;
  /** True if a setting equals the first image's value, so that it counts as inherited, or the other way round. */
  readonly unlikeFresh?: true;
};

const ms = 1_000_000;
const host = (HostConfig: object, more: object = {}) => ({ HostConfig, ...more });
const front = (endpoint: object, more: object = {}) => ({
  HostConfig: { NetworkMode: 'front' },
  NetworkingConfig: { EndpointsConfig: { front: endpoint } },
  ...more,
});
const networks = ({ NetworkSettings }: Inspected) => NetworkSettings.Networks;
/** The bindings of each port are sorted, because Podman shows them in no order. */
const ports = ({ NetworkSettings }: Inspected) =>
  new Map(
    Object.entries(NetworkSettings['Ports'] ?? {}).map(([port, bindings]) => [
      port,
      (bindings as readonly object[] | null)?.map((one) => JSON.stringify(one)).toSorted(),
    ]),
  );

const process: readonly Shape[] = [
  { name: 'nothing of its own', body: {} },
  { name: 'Cmd', body: { Cmd: ['sleep 1000'] } },
  { name: 'Entrypoint', body: { Entrypoint: idleCommand } },
  { name: 'Entrypoint and Cmd', body: { Entrypoint: ['sh', '-x', '-c'], Cmd: idleCommand.slice(2) } },
  { name: 'Entrypoint and an empty Cmd', body: { Entrypoint: idleCommand, Cmd: [] } },
  { name: 'Entrypoint reset by [""]', body: { Entrypoint: [''], Cmd: idleCommand } },
  { name: 'Entrypoint reset by []', body: { Entrypoint: [], Cmd: idleCommand } },
  { name: 'Entrypoint of the image, no Cmd', body: { Entrypoint: ['sh', '-c'] }, created: true },
  {
    name: 'Env: overridden, empty, bare and twice',
    body: { Env: ['SHARED=mine', 'EMPTY=', 'BARE', 'TWICE=1', 'TWICE=2'] },
  },
  { name: 'Env of the image', body: { Env: ['SHARED=one', 'OWN=1'] }, unlikeFresh: true },
  { name: 'User, WorkingDir', body: { User: '1000:1000', WorkingDir: '/bin' } },
  { name: 'StopSignal, StopTimeout', body: { StopSignal: 'SIGQUIT', StopTimeout: 3 } },
  { name: 'StopTimeout 0', body: { StopTimeout: 0 } },
  {
    name: 'Tty, stdin, attached',
    body: { Tty: true, OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true },
  },
  { name: 'Shell', body: { Shell: ['/bin/sh', '-e', '-c'] } },
  { name: 'ConsoleSize', body: host({ ConsoleSize: [24, 80] }), since: '1.42' },
  { name: 'Init true', body: host({ Init: true }), created: true },
  { name: 'Init false', body: host({ Init: false }) },
];

const descriptions: readonly Shape[] = [
  {
    name: 'Labels: overridden, added, empty, of compose and of ours',
    body: {
      Labels: {
        'com.example.shared': 'mine',
        empty: '',
        'com.docker.compose.project': 'p',
        'com.docker.compose.service': 's',
        'upkeep.enable': 'true',
      },
    },
  },
  { name: 'Annotations', body: host({ Annotations: { 'com.example.a': 'b' } }), since: '1.43' },
  {
    name: 'Healthcheck',
    body: {
      Healthcheck: {
        Test: ['CMD', 'test', '-e', '/'],
        Interval: 7000 * ms,
        Timeout: 900 * ms,
        StartPeriod: 1500 * ms,
        Retries: 9,
      },
    },
  },
  { name: 'Healthcheck: one field', body: { Healthcheck: { Interval: 7000 * ms } } },
  { name: 'Healthcheck NONE', body: { Healthcheck: { Test: ['NONE'] } } },
  { name: 'Healthcheck StartInterval', body: { Healthcheck: { StartInterval: 700 * ms } }, since: '1.44' },
];

const storage: readonly Shape[] = [
  { name: 'a named volume', body: host({ Binds: ['named:/data'] }) },
  {
    name: 'binds with modes',
    body: host({ Binds: ['/etc:/host:ro,rprivate', '/bin:/host-bin:z', 'named:/named:nocopy,ro'] }),
  },
  { name: 'an anonymous volume', body: { Volumes: { '/own': {}, '/own-too/': {} } } },
  { name: 'an anonymous volume as a lone bind', body: host({ Binds: ['/lone'] }) },
  {
    name: 'an anonymous volume as a mount',
    body: host({ Mounts: [{ Type: 'volume', Target: '/mount', VolumeOptions: { NoCopy: true, Labels: { a: 'b' } } }] }),
  },
  {
    name: 'mounts with options',
    body: host({
      Mounts: [
        {
          Type: 'bind',
          Source: '/etc',
          Target: '/host',
          ReadOnly: true,
          BindOptions: { Propagation: 'rprivate', NonRecursive: true },
        },
        { Type: 'tmpfs', Target: '/scratch', TmpfsOptions: { SizeBytes: 1_048_576, Mode: 0o700 } },
        {
          Type: 'volume',
          Source: 'optioned',
          Target: '/data',
          VolumeOptions: {
            NoCopy: true,
            Labels: { a: 'b' },
            DriverConfig: { Name: 'local', Options: { type: 'tmpfs', device: 'tmpfs', o: 'size=1m' } },
          },
        },
        { Type: 'volume', Source: 'plain', Target: '/plain', ReadOnly: true },
      ],
    }),
  },
  {
    name: 'a mount that creates its source',
    body: host({
      Mounts: [
        { Type: 'bind', Source: '/run/upkeep-fidelity', Target: '/made', BindOptions: { CreateMountpoint: true } },
      ],
    }),
    since: '1.42',
  },
  {
    name: 'a mount that is not recursively read-only',
    body: host({
      Mounts: [
        { Type: 'bind', Source: '/etc', Target: '/host', ReadOnly: true, BindOptions: { ReadOnlyNonRecursive: true } },
      ],
    }),
    since: '1.44',
  },
  {
    name: 'a path within a volume',
    body: host({ Mounts: [{ Type: 'volume', Source: 'parts', Target: '/part', VolumeOptions: { Subpath: 'part' } }] }),
    since: '1.45',
    created: true,
  },
  {
    name: 'tmpfs, some over volumes of the image',
    body: host({ Tmpfs: { '/scratch': 'size=1m,mode=700', '/data': '', '/one/': '' } }),
  },
  {
    name: 'volumes from another by name, read-only',
    body: host({ VolumesFrom: ['other:ro'] }),
    other: { Volumes: { '/shared': {} } },
  },
  { name: 'volumes from another by id', body: host({ VolumesFrom: ['OTHER'] }), other: { Volumes: { '/shared': {} } } },
  {
    name: 'a read-only root, shared memory',
    body: host({ ReadonlyRootfs: true, ShmSize: 1_048_576, Tmpfs: { '/tmp': '' } }),
  },
];

const resources: readonly Shape[] = [
  { name: 'memory', body: host({ Memory: 67_108_864, MemorySwap: -1, MemoryReservation: 33_554_432 }) },
  { name: 'memory alone', body: host({ Memory: 67_108_864 }) },
  {
    name: 'swappiness 0, no OOM killer, OOM score',
    body: host({ Memory: 67_108_864, MemorySwappiness: 0, OomKillDisable: true, OomScoreAdj: 100 }),
    created: true,
  },
  {
    name: 'processor shares, quota and set',
    body: host({ CpuShares: 512, CpuPeriod: 100_000, CpuQuota: 50_000, CpusetCpus: '0' }),
  },
  { name: 'processors', body: host({ NanoCpus: 500_000_000 }) },
  {
    name: 'block I/O',
    body: host({ BlkioWeight: 300, BlkioDeviceReadBps: [{ Path: '/dev/null', Rate: 1_048_576 }] }),
    created: true,
  },
  { name: 'processes', body: host({ PidsLimit: 50 }) },
  { name: 'no limit of processes', body: host({ PidsLimit: -1 }) },
  { name: 'ulimits', body: host({ Ulimits: [{ Name: 'nofile', Soft: 100, Hard: 200 }] }) },
  { name: 'sysctls', body: host({ Sysctls: { 'net.core.somaxconn': '512' } }) },
  {
    name: 'sysctls of an interface',
    body: host({ Sysctls: { 'net.ipv4.conf.eth0.log_martians': '1' } }),
    until: '1.46',
  },
  {
    name: 'sysctls of an endpoint',
    body: front({ DriverOpts: { 'com.docker.network.endpoint.sysctls': 'net.ipv4.conf.IFNAME.log_martians=1' } }),
    since: '1.46',
  },
  {
    name: 'cgroup parent and namespace',
    body: host({ CgroupParent: '/upkeep-fidelity', CgroupnsMode: 'host' }),
    created: true,
  },
];

const security: readonly Shape[] = [
  { name: 'capabilities', body: host({ CapAdd: ['NET_ADMIN'], CapDrop: ['MKNOD', 'CAP_AUDIT_WRITE'] }) },
  { name: 'privileged', body: host({ Privileged: true }), created: true },
  {
    name: 'devices',
    body: host({
      Devices: [{ PathOnHost: '/dev/null', PathInContainer: '/dev/other', CgroupPermissions: 'rw' }],
      DeviceCgroupRules: ['c 1:3 rwm'],
    }),
  },
  {
    name: 'a device request',
    body: host({
      DeviceRequests: [
        { Driver: 'nvidia', Count: -1, DeviceIDs: null, Capabilities: [['gpu', 'compute']], Options: { a: 'b' } },
      ],
    }),
    created: true,
  },
  { name: 'security options', body: host({ SecurityOpt: ['no-new-privileges', 'seccomp=unconfined'] }) },
  { name: 'unconfined paths', body: host({ MaskedPaths: [], ReadonlyPaths: [] }) },
  { name: 'other confined paths', body: host({ MaskedPaths: ['/proc/kcore'], ReadonlyPaths: ['/proc/sys'] }) },
  { name: 'more groups', body: host({ GroupAdd: ['1000', '44'] }) },
  { name: 'the host’s user namespace', body: host({ UsernsMode: 'host' }) },
  { name: 'runtime, isolation', body: host({ Runtime: 'runc', Isolation: 'default' }) },
];

const life: readonly Shape[] = [
  { name: 'restart always', body: host({ RestartPolicy: { Name: 'always' } }) },
  { name: 'restart unless-stopped', body: host({ RestartPolicy: { Name: 'unless-stopped' } }) },
  { name: 'restart on-failure', body: host({ RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 3 } }) },
  { name: 'restart no', body: host({ RestartPolicy: { Name: 'no' } }) },
  { name: 'auto-remove', body: host({ AutoRemove: true }), changesWhenStopped: true },
  {
    name: 'log options',
    body: host({ LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', tag: '{{.Name}}' } } }),
  },
  { name: 'no log', body: host({ LogConfig: { Type: 'none' } }) },
];

const naming: readonly Shape[] = [
  { name: 'host and domain name', body: { Hostname: 'box', Domainname: 'example.org' } },
  { name: 'a full host name', body: { Hostname: 'box.example.org' } },
  { name: 'a host name on a network', body: front({ Aliases: ['alias'] }, { Hostname: 'box' }) },
  {
    name: 'DNS and hosts',
    body: host({
      Dns: ['192.0.2.1'],
      DnsSearch: ['example.org'],
      DnsOptions: ['ndots:1'],
      ExtraHosts: ['there:192.0.2.2', 'gate:host-gateway'],
    }),
  },
  { name: 'legacy links', body: host({ Links: ['other', 'other:alias'] }), other: {} },
];

const published: readonly Shape[] = [
  {
    name: 'ports: TCP, UDP, an address of the host',
    body: host(
      {
        PortBindings: {
          '80/tcp': [{ HostPort: '18180' }, { HostIp: '127.0.0.1', HostPort: '18181' }],
          '53/udp': [{ HostPort: '18053' }],
        },
      },
      { ExposedPorts: { '80/tcp': {}, '53/udp': {} } },
    ),
    keeps: ports,
  },
  {
    name: 'an ephemeral port',
    body: host(
      { PortBindings: { '80/tcp': [{}], '81/tcp': [{ HostPort: '0' }] } },
      { ExposedPorts: { '80/tcp': {}, '81/tcp': {} } },
    ),
  },
  {
    name: 'a range of ports',
    body: host({ PortBindings: { '80/tcp': [{ HostPort: '18200-18210' }] } }, { ExposedPorts: { '80/tcp': {} } }),
  },
  {
    name: 'ports bound without an exposure or a port',
    body: host({ PortBindings: { '70/tcp': [{ HostPort: '18070' }], '8080/tcp': [] } }),
    unlikeFresh: true,
  },
  { name: 'all ports', body: host({ PublishAllPorts: true }, { ExposedPorts: { '1234/tcp': {} } }) },
  {
    name: 'a port that only the image exposes',
    body: host({ PortBindings: { '8081/tcp': [{ HostPort: '18081' }] } }),
    keeps: ports,
    unlikeFresh: true,
  },
  { name: 'exposed ports', body: { ExposedPorts: { '1234/tcp': {}, '1234/udp': {} } } },
];

const networking: readonly Shape[] = [
  {
    name: 'a network with alias and address',
    body: front({ Aliases: ['alias'], IPAMConfig: { IPv4Address: '10.231.1.77' } }),
    keeps: (container) => networks(container)['front']?.['IPAddress'],
  },
  {
    name: 'a network by its id',
    body: {
      HostConfig: { NetworkMode: 'FRONT' },
      NetworkingConfig: { EndpointsConfig: { front: { Aliases: ['alias'] } } },
    },
  },
  { name: 'a link on a network', body: front({ Links: ['other:alias'] }), other: front({}) },
  {
    name: 'two networks',
    body: front({ Aliases: ['a'] }),
    connect: { back: { Aliases: ['b'], IPAMConfig: { IPv4Address: '10.231.2.88' } } },
    changesWhenStopped: true,
    keeps: (container) => networks(container)['back']?.['IPAddress'],
  },
  { name: 'the default bridge and a network', body: {}, connect: { back: {} }, changesWhenStopped: true },
  {
    name: 'another network than that of its mode',
    body: front({}),
    connect: { back: {} },
    disconnect: ['front'],
    changesWhenStopped: true,
  },
  {
    name: 'a MAC address',
    body: { MacAddress: '02:11:22:33:44:55' },
    until: '1.52',
    keeps: (container) => networks(container)['bridge']?.['MacAddress'],
  },
  {
    name: 'a MAC address on a network',
    body: front({ MacAddress: '02:11:22:33:44:56' }),
    since: '1.44',
    keeps: (container) => networks(container)['front']?.['MacAddress'],
  },
  {
    name: 'MAC addresses on two networks',
    body: {
      HostConfig: { NetworkMode: 'front' },
      NetworkingConfig: {
        EndpointsConfig: { front: { MacAddress: '02:11:22:33:44:57' }, back: { MacAddress: '02:11:22:33:44:58' } },
      },
    },
    since: '1.44',
    changesWhenStopped: true,
    keeps: (container) => Object.values(networks(container)).map(({ MacAddress }) => MacAddress),
  },
  { name: 'the priority of a gateway', body: front({ GwPriority: 5 }), since: '1.48' },
  { name: 'the host’s network', body: host({ NetworkMode: 'host' }) },
  { name: 'the host’s network with another name', body: host({ NetworkMode: 'host' }, { Hostname: 'box' }) },
  { name: 'no network', body: host({ NetworkMode: 'none' }) },
  { name: 'network disabled', body: { NetworkDisabled: true } },
  {
    name: 'another container’s network',
    body: host({ NetworkMode: 'container:other', DnsSearch: ['a.b'] }),
    other: { Hostname: 'shared', Domainname: 'example.org' },
  },
  {
    name: 'another container’s IPC and processes',
    body: host({ IpcMode: 'container:other', PidMode: 'container:other' }),
    other: host({ IpcMode: 'shareable' }),
  },
  { name: 'the host’s namespaces', body: host({ IpcMode: 'host', PidMode: 'host', UTSMode: 'host' }) },
  { name: 'shareable IPC', body: host({ IpcMode: 'shareable' }) },
];

export const shapes: readonly Shape[] = [
  ...process,
  ...descriptions,
  ...storage,
  ...resources,
  ...security,
  ...life,
  ...naming,
  ...published,
  ...networking,
];
