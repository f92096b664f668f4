import type { ContainerConfig, HostConfig, MountPoint } from '../../src/domain/container/container-settings.ts';
import { findContainer } from '../world/lookup.ts';
import { Refusal } from '../base/refusal.ts';
import { ensureVolume } from '../world/volumes.ts';
import type { SandboxMount, World } from '../world/world.ts';

/**
 * Mounts of a container, in this order: volumes of other containers, binds, mounts, and an anonymous volume for each
 * remaining path.
 */
export function createMounts(world: World, config: ContainerConfig, hostConfig: HostConfig): readonly SandboxMount[] {
  const mounts = new Map<string, SandboxMount>();
  const add = (mount: SandboxMount) => mounts.set(mount.point.Destination, mount);
  for (const from of hostConfig.VolumesFrom ?? []) for (const mount of mountsFrom(world, from)) add(mount);
  for (const bind of hostConfig.Binds ?? []) add(bindMount(world, bind));
  for (const mount of hostConfig.Mounts ?? []) add(specifiedMount(world, mount));
  for (const path of Object.keys(config.Volumes ?? {})) {
    if (!mounts.has(path)) add(anonymousMount(world, path, ''));
  }
  return [...mounts.values()];
}

function mountsFrom(world: World, specification: string): readonly SandboxMount[] {
  const [name = '', mode = ''] = specification.split(':');
  const source = findContainer(world, name);
  if (source === undefined) throw new Refusal(400, `No such container: ${name}`);
  return source.mounts.map((mount) => ({
    ...mount,
    point: { ...mount.point, Mode: mode === 'ro' ? '' : mode, RW: mount.point.RW !== false && mode !== 'ro' },
  }));
}

/** `name:/path:mode` or `/host/path:/path:mode`. */
function bindMount(world: World, bind: string): SandboxMount {
  const [source = '', destination = '', mode = ''] = bind.split(':');
  if (source === '' || !destination.startsWith('/')) throw new Refusal(400, `invalid volume specification: '${bind}'`);
  const readOnly = mode.split(',').includes('ro');
  if (!source.startsWith('/'))
    return { anonymous: false, point: volumePoint(world, source, destination, mode || 'z', readOnly) };
  return {
    anonymous: false,
    point: {
      Type: 'bind',
      Source: source,
      Destination: destination,
      Mode: mode,
      RW: !readOnly,
      Propagation: 'rprivate',
    },
  };
}

function specifiedMount(world: World, mount: Readonly<Record<string, unknown>>): SandboxMount {
  const type = text(mount['Type']);
  const destination = text(mount['Target']);
  const source = text(mount['Source']);
  const readOnly = mount['ReadOnly'] === true;
  if (destination === '')
    throw new Refusal(400, `invalid mount config for type "${type}": field Target must not be empty`);
  if (type === 'volume' && source === '') return anonymousMount(world, destination, 'z', readOnly);
  if (type === 'volume') return { anonymous: false, point: volumePoint(world, source, destination, 'z', readOnly) };
  const point = { Type: type, Source: source, Destination: destination, Mode: '', RW: !readOnly };
  return { anonymous: false, point: { ...point, Propagation: type === 'bind' ? 'rprivate' : '' } };
}

function anonymousMount(world: World, destination: string, mode: string, readOnly = false): SandboxMount {
  const point = volumePoint(world, world.newId('volume'), destination, mode, readOnly);
  return { anonymous: true, point };
}

function volumePoint(world: World, name: string, destination: string, mode: string, readOnly: boolean): MountPoint {
  ensureVolume(world, name);
  const source = `/var/lib/docker/volumes/${name}/_data`;
  return {
    Type: 'volume',
    Name: name,
    Source: source,
    Destination: destination,
    Driver: 'local',
    Mode: mode,
    RW: !readOnly,
    Propagation: '',
  };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
