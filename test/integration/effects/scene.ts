import { catalogue } from '../../lab/registry/catalogue.ts';
import type { Inspected } from '../../lab/engine/engine-client.ts';
import type { ImageSpec } from '../../lab/registry/image.ts';
import type { Lab } from '../../lab/lab.ts';
import { pushImage, type Pushed } from '../../lab/registry/push.ts';

export type Release = {
  readonly old?: ImageSpec;
  readonly next?: ImageSpec;
  /** As for `POST /containers/create`. */
  readonly config?: object;
};

export type EffectsScene = {
  readonly image: (name: string) => string;
  readonly push: (name: string, spec: ImageSpec) => Promise<Pushed>;
  /** A running container of an old version; with `next`, its tag has moved on. */
  readonly run: (name: string, release?: Release) => Promise<Inspected>;
  /** The same, whose tag has moved on. */
  readonly stale: (name: string, release?: Release) => Promise<Inspected & { readonly next: Pushed }>;
  readonly inspect: (name: string) => Promise<Inspected>;
  /** Names of all containers. */
  readonly names: () => Promise<readonly string[]>;
};

/** Containers of images in an own folder, each with the name of its image. */
export function effectsScene({ engine, registry }: Lab, folder: string): EffectsScene {
  const image = (name: string) => `${registry.host}/${folder}/${name}:stable`;
  const push = (name: string, spec: ImageSpec) => pushImage(registry, `${folder}/${name}`, 'stable', spec);
  const inspect = async (name: string) => {
    const container = await engine.inspect(name);
    if (container === undefined) throw new Error(`There is no container "${name}"`);
    return container;
  };
  const run = async (name: string, { old = catalogue['plain-v1'], config = {} }: Release = {}) => {
    await push(name, old);
    await engine.pull(image(name));
    await engine.run(name, image(name), { StopTimeout: 1, ...config });
    return inspect(name);
  };
  return {
    image,
    push,
    run,
    stale: async (name, release = {}) => {
      const container = await run(name, release);
      return { ...container, next: await push(name, release.next ?? catalogue['plain-v2']) };
    },
    inspect,
    names: async () => {
      const { body } = await engine.call('GET', '/containers/json?all=1');
      return (body as { Names: string[] }[]).map(({ Names }) => (Names[0] ?? '').slice(1)).sort();
    },
  };
}

/** Ids of a pushed image: its config digest, or its manifest digest in Docker's containerd store. */
export function idsOf({ configDigest, digest }: Pushed): readonly string[] {
  return [configDigest, digest];
}

/** The labels that `docker compose up` writes; dependencies as `db:service_healthy:true`. */
export function composeLabels(service: string, dependsOn = ''): Readonly<Record<string, string>> {
  return {
    'com.docker.compose.project': 'shop',
    'com.docker.compose.service': service,
    'com.docker.compose.container-number': '1',
    'com.docker.compose.oneoff': 'False',
    'com.docker.compose.depends_on': dependsOn,
  };
}
