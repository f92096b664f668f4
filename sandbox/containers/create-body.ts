import type { ContainerConfig, Endpoint, HostConfig, PortBinding } from '../../src/domain/container/container.ts';
import type { EngineProfile } from '../base/behaviour.ts';
import { Refusal } from '../base/simulation.ts';

/**
 * The body of `POST /containers/create` as the engine reads it: unknown fields are dropped, missing ones get defaults.
 */
export type CreateBody = {
  readonly config: ContainerConfig;
  readonly hostConfig: HostConfig;
  readonly endpoints: Readonly<Record<string, Endpoint>>;
};

/** Refuses contradictory settings before any lookup. */
export function readCreateBody(body: Readonly<Record<string, unknown>>, profile: EngineProfile): CreateBody {
  if (typeof body['Image'] !== 'string')
    throw new Refusal(400, 'Config cannot be empty in order to create a container');
  // The bodies come from our own code, so they are not validated.
  const config = { ...emptyConfig, ...known(body, configFields), Image: body['Image'] } as ContainerConfig;
  const given = body['HostConfig'] as HostConfig | undefined;
  const networking = (body['NetworkingConfig'] ?? {}) as { readonly EndpointsConfig?: Record<string, Endpoint> | null };
  const hostConfig = readHostConfig(given, profile);
  checkPolicy(hostConfig);
  checkSharedNetwork(config, hostConfig, profile);
  checkUts(config, hostConfig);
  return { config, hostConfig, endpoints: networking.EndpointsConfig ?? {} };
}

/**
 * A policy name with a valid count:
 * https://docs.docker.com/reference/api/engine/version/v1.41/#tag/Container/operation/ContainerUpdate
 */
export function checkRestartPolicy(name: string, maximumRetryCount: number): void {
  if (!policyNames.includes(name)) throw new Refusal(400, `invalid restart policy '${name}'`);
  if (maximumRetryCount !== 0 && name !== 'on-failure')
    throw new Refusal(400, `maximum retry count cannot be used with restart policy '${name}'`);
  if (maximumRetryCount < 0) throw new Refusal(400, 'maximum retry count cannot be negative');
}

const policyNames: readonly string[] = ['', 'no', 'always', 'unless-stopped', 'on-failure'];

function readHostConfig(asked: HostConfig | undefined, profile: EngineProfile): HostConfig {
  const given = asked ?? {};
  const defaults = { ...emptyHostConfig, ...profile.hostConfig };
  const fields = [...Object.keys(defaults), ...optionalHostConfig, ...profile.optionalHostConfig];
  const memory = Number(given['Memory'] ?? 0);
  const swap = Number(given['MemorySwap'] ?? 0);
  return {
    ...defaults,
    ...known(given, fields),
    ...((asked || !profile.notesRuntimeLate) && { Runtime: given['Runtime'] || defaultRuntime }),
    NetworkMode: networkModeOf(given, profile),
    IpcMode: given.IpcMode || 'private',
    ShmSize: Number(given['ShmSize'] ?? 0) || defaultShmSize,
    MemorySwap: swap === 0 ? memory * 2 : swap,
    PortBindings: given.PortBindings
      ? mapValues(given.PortBindings, (bindings) => bindings?.map(fillBinding) ?? [])
      : null,
    RestartPolicy: {
      Name: given.RestartPolicy?.Name || profile.notGiven.restartPolicy,
      MaximumRetryCount: given.RestartPolicy?.MaximumRetryCount ?? 0,
    },
  };
}

function networkModeOf({ NetworkMode: mode = '' }: HostConfig, { notGiven }: EngineProfile): string {
  return mode === '' || mode === 'default' ? notGiven.networkMode : mode;
}

function fillBinding({ HostIp = '', HostPort = '' }: PortBinding): PortBinding {
  return { HostIp, HostPort };
}

function checkPolicy({ RestartPolicy: policy, AutoRemove: autoRemove }: HostConfig): void {
  const { Name: name = '', MaximumRetryCount: count = 0 } = policy ?? {};
  if (autoRemove === true && name !== '' && name !== 'no')
    throw new Refusal(400, "can't create 'AutoRemove' container with restart policy");
  checkRestartPolicy(name, count);
}

/** A container in another container's network has no host name, addresses or ports. */
function checkSharedNetwork(config: ContainerConfig, hostConfig: HostConfig, profile: EngineProfile): void {
  if (!hostConfig.NetworkMode?.startsWith('container:')) return;
  const conflict = (what: string) => new Refusal(400, `conflicting options: ${what}`);
  if (config.Hostname) throw conflict('hostname and the network mode');
  if (isFilled(hostConfig.Links))
    throw conflict("container type network can't be used with links. This would result in undefined behavior");
  if (isFilled(hostConfig['Dns'])) throw conflict('dns and the network mode');
  if (isFilled(hostConfig['ExtraHosts'])) throw conflict('custom host-to-IP mapping and the network mode');
  if (config.MacAddress && !profile.hasEndpointsOfItsOwn) throw conflict('mac-address and the network mode');
  if (isFilled(hostConfig.PortBindings) || hostConfig.PublishAllPorts === true)
    throw conflict('port publishing and the container type network mode');
  if (isFilled(config.ExposedPorts)) throw conflict('port exposing and the container type network mode');
}

function checkUts(config: ContainerConfig, hostConfig: HostConfig): void {
  if (hostConfig.UTSMode === 'host' && config.Hostname)
    throw new Refusal(400, 'conflicting options: hostname and the UTS mode');
}

function isFilled(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

function known(given: Readonly<Record<string, unknown>>, fields: readonly string[]): Record<string, unknown> {
  const wanted = new Set(fields);
  return Object.fromEntries(Object.entries(given).filter(([field, value]) => wanted.has(field) && value !== undefined));
}

function mapValues<A, B>(record: Readonly<Record<string, A>>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

/** Fields of `GET /containers/{id}/json` for a container that was created with an image only. */
const emptyConfig = {
  Hostname: '',
  Domainname: '',
  User: '',
  AttachStdin: false,
  AttachStdout: false,
  AttachStderr: false,
  Tty: false,
  OpenStdin: false,
  StdinOnce: false,
  Env: null,
  Cmd: null,
  Volumes: null,
  WorkingDir: '',
  Entrypoint: null,
  OnBuild: null,
  Labels: {},
};

const configFields: readonly string[] = [
  ...Object.keys(emptyConfig),
  'ExposedPorts',
  'Healthcheck',
  'ArgsEscaped',
  'NetworkDisabled',
  'MacAddress',
  'StopSignal',
  'StopTimeout',
  'Shell',
];

/** https://docs.docker.com/reference/cli/dockerd/ (default-runtime) */
export const defaultRuntime = 'runc';

/** 64 MB, Docker's default: https://docs.docker.com/reference/cli/dockerd/ (default-shm-size) */
const defaultShmSize = 67_108_864;

const emptyHostConfig = {
  Binds: null,
  ContainerIDFile: '',
  LogConfig: { Type: 'json-file', Config: {} },
  NetworkMode: 'default',
  PortBindings: null,
  RestartPolicy: null,
  AutoRemove: false,
  VolumeDriver: '',
  VolumesFrom: null,
  CapAdd: null,
  CapDrop: null,
  CgroupnsMode: 'host',
  Dns: null,
  DnsOptions: null,
  DnsSearch: null,
  ExtraHosts: null,
  GroupAdd: null,
  IpcMode: 'private',
  Cgroup: '',
  Links: null,
  OomScoreAdj: 0,
  PidMode: '',
  Privileged: false,
  PublishAllPorts: false,
  ReadonlyRootfs: false,
  SecurityOpt: null,
  UTSMode: '',
  UsernsMode: '',
  ShmSize: defaultShmSize,
  ConsoleSize: [0, 0],
  Isolation: '',
  CpuShares: 0,
  Memory: 0,
  NanoCpus: 0,
  CgroupParent: '',
  BlkioWeight: 0,
  BlkioWeightDevice: null,
  BlkioDeviceReadBps: null,
  BlkioDeviceWriteBps: null,
  BlkioDeviceReadIOps: null,
  BlkioDeviceWriteIOps: null,
  CpuPeriod: 0,
  CpuQuota: 0,
  CpuRealtimePeriod: 0,
  CpuRealtimeRuntime: 0,
  CpusetCpus: '',
  CpusetMems: '',
  Devices: null,
  DeviceCgroupRules: null,
  DeviceRequests: null,
  MemoryReservation: 0,
  MemorySwap: 0,
  MemorySwappiness: null,
  OomKillDisable: false,
  PidsLimit: null,
  Ulimits: null,
  CpuCount: 0,
  CpuPercent: 0,
  IOMaximumIOps: 0,
  IOMaximumBandwidth: 0,
  ReadonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
} as const;

/** Shown only if the request has them. */
const optionalHostConfig: readonly string[] = ['Mounts', 'Tmpfs', 'StorageOpt', 'Sysctls', 'Init', 'Runtime'];
