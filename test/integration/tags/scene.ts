import { webServer } from '../../lab/registry/catalogue.ts';
import type { ImageSpec } from '../../lab/registry/image.ts';
import type { Lab } from '../../lab/lab.ts';
import { pushImage, type Pushed } from '../../lab/registry/push.ts';
import { upkeepScene, type CheckEntry, type UpdateEntry } from '../../support/scene/upkeep-scene.ts';

export type TagsScene = {
  readonly repository: string;
  /** Without a tag. */
  readonly image: string;
  readonly push: (tag: string, spec?: ImageSpec) => Promise<Pushed>;
  /** Runs `app` of that tag. */
  readonly run: (tag: string, labels?: Readonly<Record<string, string>>) => Promise<void>;
  readonly check: (...args: string[]) => Promise<Entry<CheckEntry>>;
  readonly update: (...args: string[]) => Promise<Entry<UpdateEntry>>;
  /** The tag that `app` was created from. */
  readonly tag: () => Promise<string>;
};

type Entry<Known> = Known & {
  readonly hold?: string;
  readonly candidate?: string;
  readonly candidate_kind?: string;
  readonly from_image?: string;
  readonly to_image?: string;
};

let repositories = 0;

/** One container, `app`, from its own repository; `host` is the registry or a proxy before it. */
export function tagsScene({ engine, registry }: Lab, host = registry.host): TagsScene {
  repositories += 1;
  const repository = `tags/app-${process.pid}-${repositories}`;
  const image = `${host}/${repository}`;
  const upkeep = upkeepScene({ socket: engine.socket });
  return {
    repository,
    image,
    push: (tag, spec = webServer(tag)) => pushImage(registry, repository, tag, spec),
    run: async (tag, labels = {}) => {
      await engine.pull(`${image}:${tag}`);
      await engine.run('app', `${image}:${tag}`, { StopTimeout: 1, Labels: labels });
    },
    check: async (...args) => appIn(await upkeep.check(...args)),
    update: async (...args) => appIn((await upkeep.update(...args)).outcomes),
    tag: async () => {
      const { body } = await engine.call('GET', '/containers/app/json');
      return (body as { Config: { Image: string } }).Config.Image.replace(`${image}:`, '');
    },
  };
}

function appIn<Known>(entries: Readonly<Record<string, Known>>): Known {
  const { app } = entries;
  if (app === undefined) throw new Error('There is no container "app"');
  return app;
}
