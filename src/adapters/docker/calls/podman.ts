import { quoted } from '../../../domain/text/printable.ts';
import type { Client } from '../transport/client.ts';
import { engineInfo, read, isNotFound, refusal, capabilitiesOf } from './calls.ts';
import { readList, type ListRead } from './lists.ts';
import { fields, pathSegment, text, count, texts, readAnswer } from '../transport/answer.ts';
import { arrayOf, parseJson, isJsonObject, type JsonObject } from '../../../domain/text/json.ts';
import { constants } from 'node:os';
import { cleanPath } from '../../../domain/container/recipe/volumes.ts';
import type { ContainerRecipe } from '../../../domain/container/container.ts';
import { journalPrefix } from '../../../domain/image/labels.ts';

/**
 * Completes Podman's answer to Docker's `GET /containers/{id}/json` from Podman's own API. The answer lacks many
 * settings. `obstacle`: why no successor can be made from it. Undefined if the container no longer exists.
 * https://docs.podman.io/en/v4.3/_static/api.html
 */
export async function completeContainer(
  client: Client,
  inspected: JsonObject,
  signal?: AbortSignal,
): Promise<{ readonly inspected: JsonObject; readonly obstacle: string | undefined } | undefined> {
  const path = `/libpod/containers/${pathSegment(text(inspected['Id']))}/json`;
  const [own, networks] = await Promise.all([
    read(client, { doing: 'inspect a container of Podman', path, signal }),
    readList(client, { thing: 'network', path: '/networks', signal }),
  ]);
  if (own === undefined) return undefined;
  const hostName = sharesHostName(inspected) ? (await engineInfo(client, signal)).name : '';
  const { Labels } = fields(inspected['Config']);
  const { CreateCommand, Image } = fields(fields(own)['Config']);
  const commandLine = readCommandLine(CreateCommand, Image, inspected['Image']);
  const addresses = recordedAddresses(Labels) ?? commandLine?.addresses;
  return {
    inspected: inDockerForm(inspected, { addresses: addresses ?? new Map(), hostName }),
    obstacle:
      managedByOthers(fields(own), Labels) ??
      (commandLine?.isFromId ? fromId : undefined) ??
      whyFlagsHidden(commandLine?.hidden ?? []) ??
      (addresses === undefined ? doubtfulAddress(inspected, networks.map(fields)) : undefined),
  };
}

/** In the host's UTS namespace, neither `Hostname` nor `HOSTNAME` in the environment is the real host name. */
function sharesHostName(inspected: JsonObject): boolean {
  return text(fields(inspected['HostConfig'])['UTSMode']) === 'host';
}

/** The reason to leave the container to another program, from Podman's own inspection and the labels. */
function managedByOthers(own: JsonObject, labels: unknown): string | undefined {
  const unit = text(fields(labels)['PODMAN_SYSTEMD_UNIT']);
  if (unit !== '')
    return `is run by the systemd unit ${quoted(unit, 100)}, which would start the old container again: update it with podman auto-update, or write another tag as Image= into its .container file and restart the unit`;
  if (text(own['Pod']) !== '' || own['IsInfra'] === true)
    return 'is part of a pod, in which the Docker API cannot create a container: update it with podman auto-update';
  if (arrayOf(fields(own['Config'])['Secrets']).length > 0)
    return 'has secrets of Podman, which the Docker API cannot give to a successor: recreate it with podman';
  return undefined;
}

const fromId =
  'was created from an image id, which pins it, and Podman shows any tag of that image: recreate it from a tag to have it updated';

function whyFlagsHidden(flags: readonly string[]): string | undefined {
  if (flags.length === 0) return undefined;
  return `was created with ${flags.join(', ')}, which a new container would not have, because Podman's API does not show it: recreate it with podman`;
}

/**
 * Podman does not show whether an API client requested a container's address. In a network whose subnet Podman chose,
 * no client did.
 */
function doubtfulAddress(inspected: JsonObject, networks: readonly JsonObject[]): string | undefined {
  const { NetworkMode } = fields(inspected['HostConfig']);
  if (NetworkMode !== 'bridge') return undefined;
  const name = Object.keys(fields(fields(inspected['NetworkSettings'])['Networks'])).find((candidate) => {
    const network = networks.find(({ Name }) => Name === candidate);
    return candidate !== defaultNetwork && network !== undefined && hasChosenSubnet(network);
  });
  if (name === undefined) return undefined;
  return `may have a requested address in the network ${quoted(name, 100)}. Podman reports that only for containers made by podman run, so the address might be lost: recreate it with podman, or in a network without a subnet of your own`;
}

function hasChosenSubnet(network: JsonObject): boolean {
  return arrayOf(fields(network['IPAM'])['Config']).some(
    (config) => !chosenByPodman.test(text(fields(config)['Subnet'])),
  );
}

/** Subnets of Podman's first pool: https://github.com/containers/common/blob/v0.50.1/docs/containers.conf.5.md */
const chosenByPodman = /^10\.89\.\d{1,3}\.0\/24$/;

/** Podman's name for Docker's `bridge` in inspections. */
const defaultNetwork = 'podman';

/** Converts an inspection into Docker's form, without Podman's additions. */
export function inDockerForm(
  inspected: JsonObject,
  { addresses, hostName }: { readonly addresses: CommandLine['addresses']; readonly hostName: string },
): JsonObject {
  const hostConfig = fields(inspected['HostConfig']);
  const networks = networksOf(inspected, text(hostConfig['NetworkMode']), addresses);
  return {
    ...inspected,
    State: stateOf(fields(inspected['State']), fields(hostConfig['RestartPolicy'])),
    Config: configOf(fields(inspected['Config']), hostName),
    HostConfig: hostConfigOf(hostConfig, Object.keys(networks)),
    Mounts: arrayOf(inspected['Mounts']).map((mount) => ({
      ...fields(mount),
      Destination: cleanPath(text(fields(mount)['Destination'])),
    })),
    NetworkSettings: { ...fields(inspected['NetworkSettings']), Networks: networks },
  };
}

/** `stopped` lasts from the exit until Podman's cleanup, which also applies the restart policy. */
function stateOf(state: JsonObject, policy: JsonObject): JsonObject {
  const name = text(policy['Name']);
  const failed = count(state['ExitCode']) !== 0;
  const startsAgain = name === 'always' || name === 'unless-stopped' || (name === 'on-failure' && failed);
  return state['Status'] === 'stopped' && startsAgain ? { ...state, Status: 'restarting' } : state;
}

function configOf(config: JsonObject, hostName: string): JsonObject {
  // Podman does not show the volumes that an image declares.
  const { Entrypoint, StopTimeout, Volumes: _none, ...rest } = config;
  return {
    ...rest,
    Env: ownLines(config, hostName),
    Entrypoint: texts(Entrypoint).length === 0 ? null : Entrypoint,
    ...(texts(fields(config['Healthcheck'])['Test'])[0] === 'NONE' && { Healthcheck: { Test: ['NONE'] } }),
    StopSignal: signalName(text(config['StopSignal'])),
    // Podman shows a missing timeout as 0, which would mean an immediate kill.
    ...(count(StopTimeout) > 0 && { StopTimeout }),
  };
}

/**
 * The environment without Podman's additions, some of which come with the first start:
 * https://docs.podman.io/en/v4.3/markdown/podman-run.1.html#environment
 */
function ownLines({ Env, Hostname }: JsonObject, hostName: string): readonly string[] {
  const hostNames = [text(Hostname), hostName].map((name) => `HOSTNAME=${name}`);
  const added = new Set(['container=podman', 'TERM=xterm', 'HOME=/', 'HOME=/root', ...hostNames]);
  return texts(Env).filter((line) => !added.has(line));
}

/** `15` becomes `SIGTERM`. */
function signalName(signal: string): string {
  return Object.entries(constants.signals).find(([, number]) => String(number) === signal)?.[0] ?? signal;
}

function hostConfigOf(hostConfig: JsonObject, networks: readonly string[]): JsonObject {
  const { NetworkMode, PidMode, UTSMode, Runtime, PortBindings, Ulimits, Devices } = hostConfig;
  const bound = Object.entries(fields(PortBindings)).filter(([, bindings]) => bindings !== null);
  return {
    ...hostConfig,
    NetworkMode: NetworkMode === 'bridge' ? (networks[0] ?? NetworkMode) : NetworkMode,
    PidMode: PidMode === 'private' ? '' : PidMode,
    UTSMode: UTSMode === 'private' ? '' : UTSMode,
    Runtime: Runtime === 'oci' ? '' : Runtime,
    PortBindings: Object.fromEntries(bound),
    // Anonymous volumes are listed among the mounts too.
    Binds: texts(hostConfig['Binds']).filter((bind) => !/^[0-9a-f]{64}:/.test(bind)),
    Ulimits: arrayOf(Ulimits).map((limit) => ({ ...fields(limit), Name: ulimitName(text(fields(limit)['Name'])) })),
    Devices: arrayOf(Devices).map((device) => ({
      ...fields(device),
      CgroupPermissions: text(fields(device)['CgroupPermissions']) || 'rwm',
    })),
  };
}

/** `RLIMIT_NOFILE` becomes `nofile`. */
function ulimitName(name: string): string {
  return name.replace(/^RLIMIT_/, '').toLowerCase();
}

/** The networks, the default network first. Podman gives a network's name as its id. */
function networksOf(inspected: JsonObject, mode: string, addresses: CommandLine['addresses']): JsonObject {
  if (mode !== 'bridge') return {};
  const networks = Object.entries(fields(fields(inspected['NetworkSettings'])['Networks']));
  const isDefault = (name: string) => Number(name === defaultNetwork);
  const sorted = networks.toSorted(([one], [other]) => isDefault(other) - isDefault(one));
  return Object.fromEntries(
    sorted.map(([podmansName, endpoint], index) => {
      const name = podmansName === defaultNetwork ? 'bridge' : podmansName;
      const chosen = addresses.get(name) ?? addresses.get(podmansName) ?? (index === 0 ? addresses.get('') : undefined);
      return [name, { ...fields(endpoint), NetworkID: '', ...(chosen !== undefined && { IPAMConfig: chosen }) }];
    }),
  );
}

/** Settings from a Podman command line that no API shows. */
type CommandLine = {
  /** Requested addresses by network; the key '' is the only or first network. */
  readonly addresses: ReadonlyMap<string, ChosenAddress>;
  /** Flags with an effect that no API shows. A successor would lose the effect. */
  readonly hidden: readonly string[];
  /** It names the image by its id, so no tag was chosen. Podman shows one of the image's tags instead. */
  readonly isFromId: boolean;
};

type ChosenAddress = { readonly IPv4Address?: string; readonly IPv6Address?: string };

/** Undefined for a container that an API client created. https://docs.podman.io/en/v4.3/markdown/podman-create.1.html */
export function readCommandLine(words: unknown, image: unknown, imageId: unknown): CommandLine | undefined {
  const all = texts(words);
  const verb = all.findIndex((word) => word === 'run' || word === 'create');
  if (verb === -1 || all.includes('service')) return undefined;
  const rest = all.slice(verb + 1);
  const id = text(imageId).replace(/^sha256:/, '');
  const end = rest.findIndex((word) => isImage(word, text(image)) || isStartOf(word, id));
  const flags = flagsOf(end === -1 ? rest : rest.slice(0, end));
  return {
    addresses: new Map([...flagAddresses(flags), ...networkAddresses(flags)]),
    hidden: [...new Set(flags.filter(isHidden).map(({ name }) => name))],
    isFromId: isStartOf(rest[end] ?? '', id),
  };
}

type Flag = { readonly name: string; readonly value: string };

/** From the words before the image; later words are the container's own command. */
function flagsOf(options: readonly string[]): readonly Flag[] {
  return options.flatMap((word, index) => {
    if (!word.startsWith('--')) return [];
    const equals = word.indexOf('=');
    return equals === -1
      ? [{ name: word, value: options[index + 1] ?? '' }]
      : [{ name: word.slice(0, equals), value: word.slice(equals + 1) }];
  });
}

/** `nginx` is short for `docker.io/library/nginx:latest`. */
function isImage(word: string, image: string): boolean {
  if (word.startsWith('-')) return false;
  return [image, image.replace(/:latest$/, '')].some((name) => name === word || name.endsWith(`/${word}`));
}

/** Whether the word is an image id, or its beginning: `podman images` prints 12 digits. */
function isStartOf(word: string, id: string): boolean {
  return /^(?:sha256:)?[0-9a-f]{8,64}$/.test(word) && id.startsWith(word.replace('sha256:', ''));
}

function flagAddresses(flags: readonly Flag[]): readonly (readonly [string, ChosenAddress])[] {
  const valueOf = (wanted: string) => flags.find(({ name }) => name === wanted)?.value;
  return entryOf('', valueOf('--ip'), valueOf('--ip6'));
}

/** `--network name:ip=10.0.0.2,alias=web` */
function networkAddresses(flags: readonly Flag[]): readonly (readonly [string, ChosenAddress])[] {
  return flags.filter(isNetwork).flatMap(({ value }) => {
    const [network = '', ...rest] = value.split(':');
    const options = rest.join(':').split(',');
    const valueOf = (wanted: string) => options.find((option) => option.startsWith(wanted))?.slice(wanted.length);
    return entryOf(network, valueOf('ip='), valueOf('ip6='));
  });
}

function entryOf(
  network: string,
  ipv4: string | undefined,
  ipv6: string | undefined,
): readonly (readonly [string, ChosenAddress])[] {
  if (ipv4 === undefined && ipv6 === undefined) return [];
  const chosen = { ...(ipv4 !== undefined && { IPv4Address: ipv4 }), ...(ipv6 !== undefined && { IPv6Address: ipv6 }) };
  return [[network, chosen]];
}

function isNetwork({ name }: Flag): boolean {
  return name === '--network' || name === '--net';
}

function isHidden(flag: Flag): boolean {
  return hiddenFlags.has(flag.name) || (isNetwork(flag) && /[:,](?:mac|interface_name)=/.test(flag.value));
}

const hiddenFlags: ReadonlySet<string> = new Set(
  [
    'annotation cgroup-conf cgroupns cgroups chrootdirs device-cgroup-rule device-read-bps device-read-iops',
    'device-write-bps device-write-iops gidmap health-on-failure hostuser image-volume init log-opt mac-address',
    'no-hosts passwd-entry personality requires rootfs sdnotify seccomp-policy secret subgidname subuidname sysctl',
    'systemd timeout tz uidmap umask unsetenv unsetenv-all userns variant',
  ].flatMap((names) => names.split(' ').map((name) => `--${name}`)),
);

/** The label that stores the requested addresses of a container that we create. Podman does not report them. */
const addressesLabel = `${journalPrefix}addresses`;

/** The body of a create request, with the addresses label and Podman's name for Docker's `bridge` network. */
export function bodyForPodman({ body, laterEndpoints }: ContainerRecipe): Readonly<Record<string, unknown>> {
  const atCreate = Object.entries(fields(fields(body['NetworkingConfig'])['EndpointsConfig']));
  const later = laterEndpoints.map(({ networkName, endpoint }) => [networkName, endpoint] as const);
  const asked = [...atCreate, ...later].flatMap(([name, endpoint]) => {
    const { IPAMConfig } = fields(endpoint);
    return isJsonObject(IPAMConfig) ? [[name, IPAMConfig] as const] : [];
  });
  const recorded = { [addressesLabel]: JSON.stringify(Object.fromEntries(asked)) };
  const EndpointsConfig = Object.fromEntries(
    atCreate.map(([name, endpoint]) => [name === 'bridge' ? defaultNetwork : name, endpoint]),
  );
  return { ...body, Labels: { ...fields(body['Labels']), ...recorded }, NetworkingConfig: { EndpointsConfig } };
}

/** Undefined for a container that we did not create. Labels are untrusted text. */
export function recordedAddresses(labels: unknown): ReadonlyMap<string, ChosenAddress> | undefined {
  const label = text(fields(labels)[addressesLabel]);
  if (label === '' || label.length > maxLabel) return undefined;
  const recorded = parseJson(label);
  if (!isJsonObject(recorded)) return undefined;
  return new Map(Object.entries(recorded).map(([name, chosen]) => [name, addressOf(chosen)]));
}

const maxLabel = 65_536;

function addressOf(chosen: unknown): ChosenAddress {
  const { IPv4Address, IPv6Address } = fields(chosen);
  return {
    ...(text(IPv4Address) !== '' && { IPv4Address: text(IPv4Address) }),
    ...(text(IPv6Address) !== '' && { IPv6Address: text(IPv6Address) }),
  };
}

/**
 * An image as Docker would describe it: with its HEALTHCHECK, which only Podman's own API shows, and with the defaults
 * that Podman writes into containers. https://docs.podman.io/en/v4.3/_static/api.html
 */
export async function completeImage(client: Client, answer: unknown, signal?: AbortSignal): Promise<unknown> {
  const image = fields(answer);
  const path = `/libpod/images/${pathSegment(text(image['Id']).replace(/^sha256:/, ''))}/json`;
  const { Healthcheck } = fields(await read(client, { doing: 'inspect an image of Podman', path, signal }));
  const config = fields(image['Config']);
  return {
    ...withoutLocalDigests(image),
    Config: {
      ...config,
      WorkingDir: text(config['WorkingDir']) || '/',
      StopSignal: text(config['StopSignal']) || 'SIGTERM',
      ...(Healthcheck !== undefined && { Healthcheck }),
    },
  };
}

/** Podman names a local build `localhost/…` and gives it a digest like a registry's. */
export function withoutLocalDigests(entry: unknown): JsonObject {
  const { RepoDigests, ...image } = fields(entry);
  return { ...image, RepoDigests: texts(RepoDigests).filter((digest) => !digest.startsWith('localhost/')) };
}

/**
 * Entries of Podman's container list with the health in their status, as Docker has it. Only Podman's own list shows it.
 * Health stays unknown where a socket proxy refuses that list.
 */
export async function withHealth(
  client: Client,
  list: ListRead,
  entries: readonly unknown[],
): Promise<readonly unknown[]> {
  const own = await readList(client, { ...list, path: '/libpod/containers/json' }).catch(() => []);
  const healths = new Map(own.map(fields).map(({ Id, Status }) => [Id, text(Status)]));
  return entries.map((entry) => {
    const { Id, State, Status } = fields(entry);
    const health = State === 'running' ? (healths.get(Id) ?? '') : '';
    return health === '' ? entry : { ...fields(entry), Status: `${text(Status)} (${health})` };
  });
}

/**
 * Makes Podman run a health check and record the result, as its systemd timer would. Does nothing on an engine that
 * runs the checks itself. https://docs.podman.io/en/v4.3/_static/api.html
 */
export async function probeHealth(client: Client, id: string, signal?: AbortSignal): Promise<void> {
  if (capabilitiesOf(await client.version(signal)).healthProbes) return;
  const path = `/libpod/containers/${pathSegment(id)}/healthcheck`;
  const timeLimit = { for: 'whole', ms: client.deadlines.changeMs } as const;
  const reply = await client.send({ method: 'GET', path, socket: 'own', timeLimit, ...(signal && { signal }) });
  if (reply.kind === 'ok') await readAnswer(reply.body);
  // 409: the container does not run, which the next inspection shows.
  else if (reply.status !== 409 && !isNotFound(reply)) throw refusal('run a health check', reply);
}
