import { text, texts } from '../transport/json-fields.ts';

/** Settings from a Podman command line that no API shows. */
export type CommandLine = {
  /** Requested addresses by network; the key '' is the only or first network. */
  readonly addresses: ReadonlyMap<string, ChosenAddress>;
  /** Flags with an effect that no API shows. A successor would lose the effect. */
  readonly hidden: readonly string[];
  /** It names the image by its id, so no tag was chosen. Podman shows one of the image's tags instead. */
  readonly isFromId: boolean;
};

export type ChosenAddress = { readonly IPv4Address?: string; readonly IPv6Address?: string };

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
