import type { ContainerLookup, LinkedContainer } from '../../container/lookup.ts';

/**
 * A dependency on another container *object*: when that object is replaced, the dependent keeps the removed object's
 * network, or cannot start, until it is re-created too. `link` is the legacy link of the default bridge, which follows
 * the object under any name.
 */
export type HardDependency = {
  readonly kind: HardKind;
  /** The id or name in the container's settings. */
  readonly names: string;
  /** Undefined when no container has that name. */
  readonly targetId: string | undefined;
};

export type HardKind = 'network' | 'ipc' | 'pid' | 'uts' | 'volumes' | 'link';

/**
 * The fields in which the engine stores `container:<id>`:
 * https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerCreate
 */
const sharedNamespaces = [
  ['network', 'NetworkMode'],
  ['ipc', 'IpcMode'],
  ['pid', 'PidMode'],
  ['uts', 'UTSMode'],
] as const;

/** In the order of the settings, each once. */
export function hardDependencies({ settings }: LinkedContainer, lookup: ContainerLookup): readonly HardDependency[] {
  const { HostConfig } = settings;
  const dependency = (kind: HardKind, names: string): HardDependency => ({
    kind,
    names,
    targetId: lookup.byIdOrName(names)?.id,
  });
  const namespaces = sharedNamespaces.flatMap(([kind, field]) => {
    const mode = HostConfig[field];
    return typeof mode === 'string' && mode.startsWith('container:')
      ? [dependency(kind, mode.slice('container:'.length))]
      : [];
  });
  const volumes = (HostConfig.VolumesFrom ?? []).map((text) => dependency('volumes', beforeColon(text)));
  const links = (HostConfig.Links ?? []).map((text) => dependency('link', beforeColon(text)));
  const all = [...namespaces, ...volumes, ...links];
  return [...new Map(all.map((one) => [`${one.kind} ${one.names}`, one])).values()];
}

/** `db:ro` of volumes_from and `/db:/web/alias` of a link both begin with their target. */
export function beforeColon(text: string): string {
  return text.replace(/:.*$/s, '').replace(/^\//, '');
}
