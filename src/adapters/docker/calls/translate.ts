import type { EngineEvent } from '../../../domain/outside/engine.ts';
import {
  containerStatuses,
  shortId,
  type ContainerReach,
  type Network,
  type Container,
  type ContainerStatus,
  type ContainerSummary,
  type HealthStatus,
  type Image,
  type ImageSummary,
  type ContainerConfig,
  type Endpoint,
  type Healthcheck,
  type HostConfig,
  type MountPoint,
} from '../../../domain/container/container.ts';
import { parseDigest } from '../../../domain/image/image-reference.ts';
import { count, fields, text, textMap, texts, timeMs, isTextMap, isTexts } from '../transport/answer.ts';
import { arrayOf, isJsonObject, type JsonObject } from '../../../domain/text/json.ts';
import { quoted } from '../../../domain/text/printable.ts';

/** One entry of `GET /containers/json`; undefined without an id. */
export function readContainerSummary(entry: unknown): ContainerSummary | undefined {
  const { Id, Names, Image: image, ImageID, State, Status, Labels, Created, HostConfig } = fields(entry);
  const id = text(Id);
  if (id === '') return undefined;
  return {
    id,
    name: nameOf(texts(Names)) || shortId(id),
    image: text(image),
    imageId: imageIdIn(ImageID),
    status: readStatus(text(State)),
    health: healthInWords(text(Status)),
    labels: textMap(Labels),
    createdAtMs: count(Created) * 1000,
    networkMode: text(fields(HostConfig)['NetworkMode']),
    ...manifestOf(fields(fields(entry)['ImageManifestDescriptor'])),
    ...readReach(fields(entry)),
  };
}

/** A published port is listed once for IPv4 and once for IPv6. */
function readReach({ Ports, NetworkSettings, Mounts }: JsonObject): { readonly reach?: ContainerReach } {
  const ports = arrayOf(Ports).map((port) => {
    const { IP, PrivatePort, PublicPort, Type } = fields(port);
    return { protocol: text(Type), port: count(PrivatePort), hostPort: count(PublicPort), hostAddress: text(IP) };
  });
  const networks = Object.values(fields(fields(NetworkSettings)['Networks'])).flatMap((endpoint) => {
    const { NetworkID, IPAddress, Gateway, GlobalIPv6Address, IPv6Gateway } = fields(endpoint);
    const six = { id: text(NetworkID), address: text(GlobalIPv6Address), gateway: text(IPv6Gateway) };
    return [{ id: text(NetworkID), address: text(IPAddress), gateway: text(Gateway) }, six].filter(
      ({ address }) => address !== '',
    );
  });
  const mounts = arrayOf(Mounts).map((mount) => {
    const { Source, Destination } = fields(mount);
    return { source: text(Source), target: text(Destination) };
  });
  return ports.length + networks.length + mounts.length === 0 ? {} : { reach: { ports, networks, mounts } };
}

/** `GET /containers/{id}/json`. `obstacle`: a reason against a successor that the answer does not show. */
export function readContainer(answer: unknown, obstacle?: string): Container {
  const inspected = fields(answer);
  const id = text(inspected['Id']);
  return {
    id,
    name: nameOf([text(inspected['Name'])]) || shortId(id),
    imageId: imageIdIn(inspected['Image']),
    createdAtMs: timeMs(inspected['Created']),
    state: readState(fields(inspected['State']), fields(fields(inspected['Config'])['Healthcheck'])),
    restartCount: count(inspected['RestartCount']),
    ...manifestOf(fields(inspected['ImageManifestDescriptor'])),
    settings: readSettings(inspected, obstacle),
  };
}

function manifestOf({ digest, platform }: JsonObject): Pick<Container, 'platform' | 'manifestDigest'> {
  const manifestDigest = parseDigest(text(digest));
  const { os, architecture, variant } = fields(platform);
  const isNamed = text(os) !== '' && text(architecture) !== '';
  return {
    ...(isNamed && { platform: { os: text(os), architecture: text(architecture), variant: text(variant) } }),
    ...(manifestDigest !== undefined && { manifestDigest }),
  };
}

/** One entry of `GET /images/json`; undefined without an id. */
export function readImageSummary(entry: unknown): ImageSummary | undefined {
  const image = fields(entry);
  const createdAtMs = count(image['Created']) * 1000;
  return text(image['Id']) === '' ? undefined : { ...summaryOf(image), ...(createdAtMs > 0 && { createdAtMs }) };
}

/** `GET /images/{name}/json` */
export function readImage(answer: unknown): Image {
  const image = fields(answer);
  return {
    ...summaryOf(image),
    ...(lacksConfig(image) && { isConfigUnknown: true }),
    os: text(image['Os']),
    architecture: text(image['Architecture']),
    variant: text(image['Variant']),
    createdAtMs: timeMs(image['Created']),
    config: readImageConfig(image['Config']),
  };
}

/** An inspection without the image's configuration. Every configuration lists layers, or names a system. */
export function lacksConfig({ Os, Architecture, RootFS }: JsonObject): boolean {
  const isEmpty = isJsonObject(RootFS) && arrayOf(RootFS['Layers']).length === 0;
  return isEmpty && text(Os) === '' && text(Architecture) === '';
}

/** Whether an entry of a list may be of an image like that. An inspection shows it. */
export function mayLackConfig(entry: unknown): boolean {
  const { Created, Labels } = fields(entry);
  return Created === 0 && Labels === null;
}

/** One entry of `GET /networks`; undefined without an id. */
export function readNetwork(entry: unknown): Network | undefined {
  const { Id, Created, Scope, Containers, Services, Peers, Status, ...recipe } = fields(entry);
  return text(Id) === ''
    ? undefined
    : { id: text(Id), name: text(recipe['Name']), driver: text(recipe['Driver']), recipe };
}

/** One line of `GET /events`; undefined for an irrelevant event. */
export function readEvent(line: unknown): EngineEvent | undefined {
  const { Type, Action, Actor, time, timeNano } = fields(line);
  const kind = [...eventKinds, 'service' as const].find((known) => known === Type);
  const rawAction = text(Action);
  // A health probe is an exec with three events, which are irrelevant for the container.
  if (!kind || rawAction === '' || rawAction.startsWith('exec_')) return undefined;
  const { ID, Attributes } = fields(Actor);
  return {
    kind,
    action: (kind === 'container' ? podmanActions.get(rawAction) : undefined) ?? rawAction,
    id: text(ID),
    attributes: textMap(Attributes),
    timeMs: count(timeNano) > 0 ? Math.floor(count(timeNano) / 1e6) : count(time) * 1000,
  };
}

/** Podman's names of events, with Docker's names for them. */
const podmanActions: ReadonlyMap<string, string> = new Map([
  ['died', 'die'],
  ['remove', 'destroy'],
]);

export const eventKinds = ['container', 'image', 'network', 'volume'] as const;

/** A legacy link appears as a further name, `/web/db`. The container's own name has one slash. */
function nameOf(names: readonly string[]): string {
  const own = names.find((name) => !name.slice(1).includes('/')) ?? names[0] ?? '';
  return own.replace(/^\//, '');
}

/** Empty for a container without an image, created with `--rootfs`: Podman gives the algorithm alone. */
function imageIdIn(value: unknown): string {
  const id = text(value);
  return id === 'sha256:' ? '' : id;
}

/** Includes Podman's states that Docker does not have. Other unknown states count as `exited`. */
const statuses: ReadonlyMap<string, ContainerStatus> = new Map([
  ...containerStatuses.map((state) => [state, state] as const),
  ['configured', 'created'],
  ['initialized', 'created'],
  ['stopping', 'running'],
  ['stopped', 'exited'],
]);

function readStatus(word: string): ContainerStatus {
  return statuses.get(word) ?? 'exited';
}

/** The list shows health only in text: `Up 5 minutes (healthy)`, `Up 2 seconds (health: starting)`. */
function healthInWords(status: string): HealthStatus {
  const word = /\((?:health: )?(starting|healthy|unhealthy)\)/.exec(status)?.[1] ?? '';
  return readHealth(word) ?? 'none';
}

function readHealth(word: string): HealthStatus | undefined {
  return probedHealths.find((health) => health === word);
}

const probedHealths = ['starting', 'healthy', 'unhealthy'] as const;

/** Largest output of a health probe; Docker itself keeps 4,096 bytes. */
const maxHealthOutput = 4_096;

function readState(state: JsonObject, healthcheck: JsonObject): Container['state'] {
  const health = fields(state['Health'] ?? state['Healthcheck']);
  const lastProbe = fields(arrayOf(health['Log']).at(-1));
  return {
    status: readStatus(text(state['Status'])),
    exitCode: count(state['ExitCode']),
    error: text(state['Error']),
    oomKilled: state['OOMKilled'] === true,
    startedAt: timestamp(state['StartedAt']),
    finishedAt: timestamp(state['FinishedAt']),
    health: readHealth(text(health['Status'])) ?? (isProbed(healthcheck) ? 'starting' : 'none'),
    healthOutput: text(lastProbe['Output']).slice(0, maxHealthOutput),
  };
}

/** The time verbatim. Go's zero time, in the year 1, means never. */
function timestamp(value: unknown): string {
  return timeMs(value) === 0 ? '' : text(value);
}

/** A container that was never started has a health check but no health status yet. */
function isProbed({ Test }: JsonObject): boolean {
  const how = texts(Test)[0];
  return how !== undefined && how !== 'NONE';
}

function summaryOf(image: JsonObject): ImageSummary {
  return {
    id: text(image['Id']),
    tags: texts(image['RepoTags']).filter((tag) => tag !== '<none>:<none>'),
    digests: texts(image['RepoDigests']).filter((digest) => digest !== '<none>@<none>'),
    // A list has the labels at the top level, an inspection in the configuration.
    labels: textMap(image['Labels'] ?? fields(image['Config'])['Labels']),
  };
}

/**
 * The parts of an inspection that make a successor, unchanged: unknown fields stay. A known field with an unexpected
 * type is omitted and becomes an obstacle, because a successor would lose it.
 */
export function readSettings(inspected: JsonObject, obstacle?: string): Container['settings'] {
  const { Config, HostConfig: hostConfig, Mounts, NetworkSettings } = inspected;
  const networks = Object.entries(fields(fields(NetworkSettings)['Networks']));
  const whyNot = obstacle ?? unreadable(inspected);
  return {
    ...(whyNot !== undefined && { obstacle: whyNot }),
    Config: { ...readImageConfig(Config), Image: text(fields(Config)['Image']) },
    HostConfig: withoutMistyped<HostConfig>(hostConfig, hostConfigShapes),
    Mounts: arrayOf(Mounts).filter(isMountPoint),
    Networks: Object.fromEntries(
      networks.map(([name, endpoint]) => [name, withoutMistyped<Endpoint>(endpoint, endpointShapes)]),
    ),
  };
}

function unreadable({ Config, HostConfig: hostConfig, Mounts, NetworkSettings }: JsonObject): string | undefined {
  const networks = Object.entries(fields(fields(NetworkSettings)['Networks']));
  const [odd] = [
    ...mistypedFields(Config, configShapes).map((field) => `Config.${field}`),
    ...mistypedFields(hostConfig, hostConfigShapes).map((field) => `HostConfig.${field}`),
    ...arrayOf(Mounts).flatMap((mount, index) => (isMountPoint(mount) ? [] : [`Mounts[${index}]`])),
    ...networks.flatMap(([name, endpoint]) =>
      mistypedFields(endpoint, endpointShapes).map((field) => `NetworkSettings.Networks.${name}.${field}`),
    ),
  ];
  return odd && `has a setting that cannot be read: ${quoted(odd, 100)} is not as the engine's API describes it`;
}

/** The `Config` of an image: https://github.com/opencontainers/image-spec/blob/main/config.md */
function readImageConfig(config: unknown): Image['config'] {
  return withoutMistyped<Image['config']>(config, configShapes);
}

type TypeCheck = (value: unknown) => boolean;

/** A shape for every typed field of the domain. A forgotten field does not compile. */
type TypeChecks<T> = { readonly [Key in keyof T as string extends Key ? never : Key]-?: TypeCheck };

const isText: TypeCheck = (value) => typeof value === 'string';
const isNumber: TypeCheck = (value) => typeof value === 'number';
const isFlag: TypeCheck = (value) => typeof value === 'boolean';
const isTextsOrNull: TypeCheck = (value) => value === null || isTexts(value);
const isTextMapOrNull: TypeCheck = (value) => value === null || isTextMap(value);
const isObjectOrNull: TypeCheck = (value) => value === null || isJsonObject(value);
const isObjectsOrNull: TypeCheck = (value) => value === null || isListOf(isJsonObject)(value);
const isObjectMapOrNull: TypeCheck = (value) => value === null || isMapOf(isJsonObject)(value);
const isPortMapOrNull: TypeCheck = (value) =>
  value === null || isMapOf((bindings) => bindings === null || isListOf(isTextMap)(bindings))(value);

function isListOf(shape: TypeCheck): TypeCheck {
  return (value) => Array.isArray(value) && value.every(shape);
}

function isMapOf(shape: TypeCheck): TypeCheck {
  return (value) => isJsonObject(value) && Object.values(value).every(shape);
}

const healthcheckShapes: TypeChecks<Healthcheck> = {
  Test: isTextsOrNull,
  Interval: isNumber,
  Timeout: isNumber,
  StartPeriod: isNumber,
  StartInterval: isNumber,
  Retries: isNumber,
};

const restartPolicyShapes: TypeChecks<NonNullable<HostConfig['RestartPolicy']>> = {
  Name: isText,
  MaximumRetryCount: isNumber,
};

const configShapes: TypeChecks<ContainerConfig> = {
  Image: isText,
  Hostname: isText,
  Domainname: isText,
  User: isText,
  Env: isTextsOrNull,
  Cmd: isTextsOrNull,
  Entrypoint: isTextsOrNull,
  Labels: isTextMapOrNull,
  ExposedPorts: isObjectMapOrNull,
  Volumes: isObjectMapOrNull,
  Healthcheck: (value) => value === null || fits(value, healthcheckShapes),
  WorkingDir: isText,
  StopSignal: isText,
  StopTimeout: (value) => value === null || isNumber(value),
  MacAddress: isText,
};

const hostConfigShapes: TypeChecks<HostConfig> = {
  NetworkMode: isText,
  IpcMode: isText,
  PidMode: isText,
  UTSMode: isText,
  RestartPolicy: (value) => value === null || (fits(value, restartPolicyShapes) && isText(value['Name'])),
  AutoRemove: isFlag,
  Runtime: isText,
  Privileged: isFlag,
  Binds: isTextsOrNull,
  Mounts: isObjectsOrNull,
  VolumesFrom: isTextsOrNull,
  Links: isTextsOrNull,
  PortBindings: isPortMapOrNull,
  PublishAllPorts: isFlag,
};

const mountShapes: TypeChecks<MountPoint> = {
  Type: isText,
  Name: isText,
  Source: isText,
  Destination: isText,
  Mode: isText,
  RW: isFlag,
};

const endpointShapes: TypeChecks<Endpoint> = {
  NetworkID: isText,
  Aliases: isTextsOrNull,
  Links: isTextsOrNull,
  IPAMConfig: isObjectOrNull,
  DriverOpts: isTextMapOrNull,
  MacAddress: isText,
  GwPriority: isNumber,
};

function fits<T>(value: unknown, shapes: TypeChecks<T>): value is JsonObject {
  return (
    isJsonObject(value) &&
    Object.entries<TypeCheck>(shapes).every(([field, shape]) => value[field] === undefined || shape(value[field]))
  );
}

/** Fields with another type than the API documents. */
function mistypedFields<T>(value: unknown, shapes: TypeChecks<T>): readonly string[] {
  const all = fields(value);
  return Object.entries<TypeCheck>(shapes).flatMap(([field, shape]) =>
    all[field] === undefined || shape(all[field]) ? [] : [field],
  );
}

/** The same object if every field has its documented type, as with every known engine. */
function withoutMistyped<T>(value: unknown, shapes: TypeChecks<T>): T {
  const all = fields(value);
  if (fits(all, shapes)) return all as T;
  const odd = mistypedFields(value, shapes);
  return Object.fromEntries(Object.entries(all).filter(([field]) => !odd.includes(field))) as T;
}

function isMountPoint(value: unknown): value is MountPoint {
  return fits(value, mountShapes) && isText(value['Destination']);
}
