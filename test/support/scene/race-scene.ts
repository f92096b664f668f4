import { createApplication } from '../../../src/application/create-application.ts';
import type { ContainerRecipe } from '../../../src/domain/container/container.ts';
import type { Engine, Outside } from '../../../src/domain/outside/outside.ts';
import { defaultSettings } from '../../../src/domain/settings/effective-settings.ts';
import { createSandboxScene } from './sandbox-outside.ts';

/** `web` runs version 1 of `app:1`, whose tag has moved on to version 2. `old` is its id. */
export async function createStaleWeb(hostConfig: ContainerRecipe['body']['HostConfig'] = {}) {
  const scene = createSandboxScene();
  scene.registry.store.publish('app:1', { version: '1' });
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  const old = scene.sandbox.control.runContainer('web', { Image: 'app:1', HostConfig: hostConfig });
  scene.registry.store.publish('app:1', { version: '2' });
  return { scene, old };
}

/** An application with some calls of its engine replaced, so that a test decides when they happen. */
export function applicationWith(outside: Outside, calls: Partial<Engine>) {
  return createApplication({ ...outside, engine: { ...outside.engine, ...calls } }, defaultSettings);
}

export const updateAll = { trigger: 'command', images: [], containers: [] } as const;

export function createGate() {
  let open = () => {};
  const isOpen = new Promise<void>((resolve) => (open = resolve));
  return { open, isOpen };
}
