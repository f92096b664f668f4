import type { ContainerRecipe, Container } from '../../../src/domain/container/container.ts';
import type { Hands, Resident } from '../rig/people/people.ts';
import type { Stage } from './stage.ts';

/** A person's actions with `docker` on an engine in memory; they do not count as the service's calls. */
export function handsOn({ scene, before, newImageId }: Stage): Hands {
  const { control, connect } = scene.sandbox;
  const { engine } = connect();
  const everyone = () => Object.values(control.snapshot().containers);
  const recreate = (original: Container) => async (imageId?: string) => {
    if (imageId !== undefined) control.tagImage(imageId, original.settings.Config.Image);
    return control.addContainer('web', bodyOf(original, imageId));
  };
  return {
    oldImageId: before.get('web')?.imageId ?? '',
    newImageId,
    look: () => Promise.resolve(everyone().map(describe)),
    stop: (id) => scene.clock.run(() => control.stopContainer(id)),
    setPolicy: (id, Name, MaximumRetryCount = 0) => engine.updateRestartPolicy(id, { Name, MaximumRetryCount }),
    rename: async (id, name) => control.renameContainer(id, name),
    remove: async (id) => control.removeContainer(id),
    prune: async () => control.pruneContainers(),
    start: async (id) => control.startContainer(id),
    copy: async ({ id, name }, act) => {
      const original = everyone().find((one) => one.id === id);
      if (original === undefined) throw new Error(`there is no "${name}"`);
      await act(recreate(original));
    },
    fromFile: (act) => act(recreate(before.get('web')!)),
  };
}

function describe({ id, name, imageId, state, settings }: Container): Resident {
  const { Name = '', MaximumRetryCount = 0 } = settings.HostConfig.RestartPolicy ?? {};
  return {
    id,
    name,
    imageId,
    status: state.status,
    running: state.status === 'running',
    reference: settings.Config.Image,
    policy: MaximumRetryCount > 0 ? `${Name}:${MaximumRetryCount}` : Name || 'no',
  };
}

/** With the id of its image if the tag has moved, like a tool that wants exactly this image. */
function bodyOf({ imageId: own, settings }: Container, imageId: string | undefined): ContainerRecipe['body'] {
  const { Config, HostConfig } = settings;
  const { Labels, Env, Cmd, Image } = Config;
  return { Image: imageId === undefined ? own : Image, Labels, Env, Cmd, HostConfig };
}
