import { Refusal } from '../base/refusal.ts';
import { emitContainerEvent, type SandboxContainer, type World } from './world.ts';

/** Compare-and-set: exactly one of several callers gets a name. */
export function claimName(world: World, name: string, id: string): void {
  if (!nameGrammar.test(name))
    throw new Refusal(400, `Invalid container name (${name}), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed`);
  const holder = world.names.get(name);
  if (holder !== undefined)
    throw new Refusal(
      409,
      `Conflict. The container name "/${name}" is already in use by container "${holder}". You have to remove (or rename) that container to be able to reuse that name.`,
    );
  world.names.set(name, id);
}

/** The container keeps running; its old name is free at once. */
export function renameContainer(world: World, container: SandboxContainer, name: string): void {
  if (name === container.name) throw new Refusal(400, 'Renaming a container with the same name as its current name');
  try {
    claimName(world, name, container.id);
  } catch (error) {
    if (error instanceof Refusal) throw new Refusal(error.status, `Error when allocating new name: ${error.message}`);
    throw error;
  }
  if (world.profile.refusesRenameBetweenTries && container.state.status === 'restarting') {
    world.names.delete(name);
    throw new Refusal(404, `sandbox ${container.id} not found`);
  }
  const oldName = container.name;
  world.names.delete(oldName);
  container.name = name;
  emitContainerEvent(world, 'rename', container, { oldName: `/${oldName}` });
}

/** At least two characters: https://github.com/moby/moby/blob/v20.10.24/daemon/names/names.go */
const nameGrammar = /^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/;
