import type { Inspected } from '../../lab/engine/engine-client.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The whole configuration of a container, as the engine shows it, without values that must differ between two
 * containers.
 */
export function comparable(inspected: Inspected): Fields {
  const { Id, Config, HostConfig, Mounts, NetworkSettings } = inspected;
  const shortId = Id.slice(0, 12);
  const { RestartPolicy, Links } = HostConfig as { RestartPolicy: { Name: string }; Links: readonly string[] | null };
  return {
    Platform: (inspected as Fields)['Platform'],
    Config: {
      ...Config,
      Hostname: Config['Hostname'] === shortId ? '(short id)' : Config['Hostname'],
      Env: byName((Config['Env'] ?? []) as readonly string[]),
    },
    HostConfig: {
      ...HostConfig,
      Links: Links?.map((link) => link.replace(/:.*\//, ':')).toSorted() ?? Links,
      // Chosen at the start of a container that was created without a HostConfig.
      Runtime: HostConfig['Runtime'] || 'runc',
      // 20.10 stores none as an empty name.
      RestartPolicy: { ...RestartPolicy, Name: RestartPolicy.Name || 'no' },
    },
    // Docker 28 does not always name an anonymous volume; its folder has the same name.
    Mounts: Mounts.map((mount) => (mount['Type'] === 'volume' ? { ...mount, Name: '(see Source)' } : mount)).toSorted(
      (a, b) => String(a['Destination']).localeCompare(String(b['Destination'])),
    ),
    Networks: Object.fromEntries(
      Object.entries(NetworkSettings.Networks).map(([name, endpoint]) => [name, configuredEndpoint(endpoint, shortId)]),
    ),
  };
}

/** Removes the additions of an update: names of volumes that had none, and the label that lists them. */
export function withoutPins(container: Fields): Fields {
  const { Config, HostConfig, Mounts } = container as {
    readonly Config: { readonly Labels: Readonly<Record<string, string>> };
    readonly HostConfig: { readonly Mounts?: readonly Fields[] | null; readonly Binds: readonly string[] | null };
    readonly Mounts: readonly Fields[];
  };
  const { 'upkeep.tx.anon': pinned = '[]', ...Labels } = Config.Labels;
  const paths: unknown[] = JSON.parse(pinned) as unknown[];
  const wasPinned = (path: unknown) => paths.includes(path);
  const mounts = (HostConfig.Mounts ?? [])
    .filter(({ Target, VolumeOptions }) => !wasPinned(Target) || VolumeOptions !== undefined)
    .map((mount) => (wasPinned(mount['Target']) ? { ...mount, Source: undefined } : mount));
  return {
    ...container,
    Config: { ...Config, Labels },
    HostConfig: {
      ...HostConfig,
      Binds: HostConfig.Binds?.map((bind) => bind.replace(/^[0-9a-f]{64}:/, '')) ?? null,
      Mounts: mounts.length === 0 ? undefined : mounts,
    },
    Mounts: Mounts.map((mount) =>
      mount['Type'] === 'volume' && mount['Mode'] === 'z' ? { ...mount, Mode: '' } : mount,
    ),
  };
}

/**
 * Compares two containers with the same body, one of them a successor. Each has its own anonymous volumes, and the
 * successor kept the volumes of its predecessor's image.
 */
export function asFresh(inspected: Inspected): Fields {
  const container = withoutPins(comparable(inspected)) as {
    readonly HostConfig: Fields;
    readonly Mounts: readonly Fields[];
  };
  const hasName = ({ Source }: Fields) => !/[0-9a-f]{64}/.test(String(Source));
  const RestartPolicy = '(restored at the commit)';
  return {
    ...container,
    HostConfig: { ...container.HostConfig, RestartPolicy },
    Mounts: container.Mounts.filter(hasName),
  };
}

/** Paths with the volumes that are mounted there. */
export function volumesOf({ Mounts }: Inspected): readonly string[] {
  const volumes = Mounts.filter(({ Type }) => Type === 'volume');
  return volumes.map(({ Destination, Source }) => `${String(Destination)} ${String(Source)}`).sort();
}

/** Only the order of lines with the same name has a meaning. */
function byName(env: readonly string[]): readonly string[] {
  const nameOf = (line: string) => line.split('=')[0] ?? '';
  return env.toSorted((a, b) => nameOf(a).localeCompare(nameOf(b)));
}

const operational =
  /^(?:NetworkID|EndpointID|Gateway|IPAddress|IPPrefixLen|IPv6Gateway|GlobalIPv6.*|MacAddress|DNSNames)$/;

function configuredEndpoint(endpoint: Fields, shortId: string): Fields {
  const aliases = (endpoint['Aliases'] as readonly string[] | null | undefined) ?? [];
  const configured = Object.entries(endpoint).filter(([field]) => !operational.test(field));
  return { ...Object.fromEntries(configured), Aliases: aliases.filter((alias) => alias !== shortId) };
}
