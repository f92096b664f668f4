import type { EngineEvent } from '../../../domain/outside/engine-reader.ts';
import { containerStatuses, shortId, type ContainerReach, type Network } from '../../../domain/container/container.ts';
import type {
  Container,
  ContainerState,
  ContainerStatus,
  ContainerSummary,
  HealthStatus,
  Image,
  ImageSummary,
} from '../../../domain/container/container.ts';
import { parseDigest } from '../../../domain/reference/digest.ts';
import { podmanActions, podmanStates } from './capabilities.ts';
import { readImageConfig, readSettings } from './settings.ts';
import { count, fields, text, textMap, texts, timeMs } from '../transport/json-fields.ts';
import { type JsonObject, arrayOf, isJsonObject } from '../../../domain/text/json-value.ts';

/** One entry of `GET /containers/json`; undefined without an id. */
export function readContainerSummary(entry: unknown): ContainerSummary | undefined {
  const { Id, Names, Image: image, ImageID, State, Status, Labels, Created, HostConfig } = fields(entry);
  const id = text(Id);
  if (id === '') return undefined;
  const { manifestDigest } = manifestOf(fields(fields(entry)['ImageManifestDescriptor']));
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
    ...(manifestDigest !== undefined && { manifestDigest }),
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

const statuses: ReadonlyMap<string, ContainerStatus> = new Map([
  ...containerStatuses.map((state) => [state, state] as const),
  ...podmanStates,
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

function readState(state: JsonObject, healthcheck: JsonObject): ContainerState {
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
