import { Refusal } from '../base/refusal.ts';
import { emitEvent, type SandboxMount, type SandboxVolume, type World } from './world.ts';

/** Returns the volume with that name; creates it if it is missing, as the engine does. */
export function ensureVolume(world: World, name: string): SandboxVolume {
  const existing = world.volumes.get(name);
  if (existing !== undefined) return existing;
  const volume = { name, marker: '' };
  world.volumes.set(name, volume);
  emitEvent(world, 'volume', 'create', name, { driver: 'local' });
  return volume;
}

/** Deletes the anonymous volumes that no other container uses, as the engine does for `--rm`. */
export function removeOrphanedVolumes(world: World, mounts: readonly SandboxMount[]): void {
  for (const { point, anonymous } of mounts) {
    const { Name: name } = point;
    if (!anonymous || name === undefined || isUsed(world, name)) continue;
    if (world.volumes.delete(name)) emitEvent(world, 'volume', 'destroy', name, { driver: 'local' });
  }
}

/** `DELETE /volumes/{name}` */
export function removeVolume(world: World, name: string): 'done' | 'noop' {
  if (!world.volumes.has(name)) return 'noop';
  if (isUsed(world, name)) throw new Refusal(409, `remove ${name}: volume is in use`);
  world.volumes.delete(name);
  emitEvent(world, 'volume', 'destroy', name, { driver: 'local' });
  return 'done';
}

function isUsed(world: World, volumeName: string): boolean {
  for (const { mounts } of world.containers.values()) {
    if (mounts.some(({ point }) => point.Name === volumeName)) return true;
  }
  return false;
}
