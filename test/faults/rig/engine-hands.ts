import type { EngineClient, Inspected } from '../../lab/engine/engine-client.ts';
import { imageIdOf } from '../../lab/engine/image-id.ts';
import type { Hands, Resident } from './people/people.ts';
import type { Stage } from './stage.ts';

/** A person's actions with `docker`; `original` is the container as first created. */
export function handsOn({ engine, image, versions }: Stage, original: Inspected): Hands {
  const newImageId = imageIdOf(versions.next);
  const must = async (method: string, path: string, body?: object) => {
    const reply = await engine.call(method, path, body);
    if (reply.status >= 400) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
  };
  // Docker refuses an update during which the process of the container ends; one that ends at once is met so again.
  const setPolicy = async (id: string, Name: string, MaximumRetryCount = 0, tries = 10): Promise<void> => {
    try {
      await must('POST', `/containers/${id}/update`, { RestartPolicy: { Name, MaximumRetryCount } });
    } catch (error) {
      if (tries <= 1 || !/deleted process|stopped container/.test(String(error))) throw error;
      await setPolicy(id, Name, MaximumRetryCount, tries - 1);
    }
  };
  const recreate = (container: Inspected) => async (imageId?: string) => {
    if (imageId === newImageId) await engine.pull(image);
    else if (imageId !== undefined) await tag(must, imageId, image);
    const { Image: reference, Hostname: _, ...config } = container.Config;
    const Image = imageId === undefined ? container.Image : reference;
    return engine.create(container.Name.slice(1), Image, { ...config, Image, HostConfig: container.HostConfig });
  };
  return {
    newImageId,
    oldImageId: imageIdOf(versions.old),
    look: () => look(engine),
    stop: (id) => must('POST', `/containers/${id}/stop`),
    setPolicy,
    rename: (id, name) => must('POST', `/containers/${id}/rename?name=${name}`),
    remove: (id) => must('DELETE', `/containers/${id}?force=1`),
    prune: () => must('POST', '/containers/prune'),
    // A parked container may have its port; then it stays down.
    start: (id) => engine.call('POST', `/containers/${id}/start`),
    copy: async ({ id, name }, act) => {
      const container = await engine.inspect(id);
      if (container === undefined) throw new Error(`there is no "${name}"`);
      await act(recreate(container));
    },
    fromFile: (act) => act(recreate(original)),
  };
}

async function tag(must: (method: string, path: string) => Promise<void>, imageId: string, image: string) {
  const colon = image.lastIndexOf(':');
  const repo = encodeURIComponent(image.slice(0, colon));
  await must('POST', `/images/${imageId}/tag?repo=${repo}&tag=${image.slice(colon + 1)}`);
}

async function look(engine: EngineClient): Promise<readonly Resident[]> {
  const { body } = await engine.call('GET', '/containers/json?all=1');
  const found = await Promise.all((body as { readonly Id: string }[]).map(({ Id }) => engine.inspect(Id)));
  return found.flatMap((container) => (container === undefined ? [] : [describe(container)]));
}

function describe({ Id: id, Name, Image: imageId, State, Config, HostConfig }: Inspected): Resident {
  const { Name: policy, MaximumRetryCount = 0 } = HostConfig.RestartPolicy as {
    readonly Name: string;
    readonly MaximumRetryCount?: number;
  };
  return {
    id,
    imageId,
    name: Name.slice(1),
    reference: Config.Image,
    status: State.Status,
    running: State.Running,
    policy: MaximumRetryCount > 0 ? `${policy}:${MaximumRetryCount}` : policy || 'no',
  };
}
