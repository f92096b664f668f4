import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineClient, Inspected } from '../../lab/engine/engine-client.ts';
import type { LabEngine } from '../../lab/engine/engine.ts';
import { lab } from '../../lab/lab.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
import {
  dataApp,
  dataFolders,
  describeData,
  hasAccepted,
  leftMarks,
  leftVolumes,
  provideDataHelper,
} from '../../support/scene/data-app.ts';
import { shapeWithoutSync } from './campaigns.ts';
import type { Shape } from './shapes.ts';

/** A program that ends unless its data are exactly its own: see `dataApp`. */
type DataScene = {
  readonly containers?: readonly string[];
  readonly policy?: string;
  readonly autoRemove?: boolean;
  /** Binds in addition to the folders of the host. */
  readonly binds: readonly string[];
  /** Whether the copy stays after a commit. */
  readonly keepsCopy?: boolean;
  readonly helper?: 'data-helper' | 'data-helper-without-sync';
};

const root = join(lab?.dir ?? '/nowhere', 'data-of-shapes');

/** The data of each engine's scene before the update. */
const before = new Map<EngineClient, string>();

const folderOf = (engine: EngineClient): string => join(root, basename((engine as LabEngine).dir));

function dataShape(
  name: string,
  versions: { readonly old: keyof typeof dataApp; readonly next: keyof typeof dataApp },
  scene: DataScene,
  more: Partial<Shape> = {},
): Shape {
  const isSmall = versions.old.startsWith('small');
  const {
    containers = ['web'],
    policy = '',
    autoRemove = false,
    binds,
    keepsCopy = false,
    helper = 'data-helper',
  } = scene;
  return {
    name: `data: ${name}`,
    old: dataApp[versions.old],
    next: dataApp[versions.next],
    good: versions.next.endsWith('v2'),
    containers: Object.fromEntries(containers.map((container) => [container, 'running' as const])),
    wrongAtTheEnd: (engine, isNew) => wrongData(engine, containers, { isNew, keepsCopy }),
    scene: async (engine, image) => {
      const folder = folderOf(engine);
      await provideDataHelper(engine, image.split('/')[0] ?? '', catalogue[helper], helper);
      const folders = dataFolders(folder);
      const [first = ''] = containers;
      for (const container of containers) {
        await engine.run(container, image, {
          StopTimeout: 2,
          Labels: { 'upkeep.data': 'volumes' },
          HostConfig: {
            ...(autoRemove ? { AutoRemove: true } : { RestartPolicy: { Name: policy, MaximumRetryCount: 0 } }),
            Binds: [...binds, ...(isSmall ? folders.binds.slice(1) : folders.binds)],
            ...(container !== first && { NetworkMode: `container:${first}` }),
          },
        });
        await readyOf(engine, container);
      }
      before.set(engine, describeData(await present(engine, first)));
    },
    ...more,
    flags: [
      '--data-image',
      `${lab?.registry.host ?? ''}/data/helper:${helper}`,
      '--data-folders',
      root,
      // A migration may take longer than the window of other shapes.
      ...(versions.next.endsWith('v2') ? [] : ['--health-window', '5s']),
      ...(more.flags ?? []),
    ],
  };
}

async function present(engine: EngineClient, name: string): Promise<Inspected> {
  const container = await engine.inspect(name);
  if (container === undefined) throw new Error(`there is no "${name}"`);
  return container;
}

/** Waits until version 1 has accepted its data and noted its start. */
async function readyOf(engine: EngineClient, name: string): Promise<boolean> {
  const outside = join(folderOf(engine), 'outside-web');
  for (let tries = 0; tries < 400; tries += 1) {
    if (hasAccepted(await present(engine, name), outside)) return true;
    await sleep(25);
  }
  return false;
}

async function wrongData(
  engine: EngineClient,
  names: readonly string[],
  { isNew, keepsCopy }: { readonly isNew: boolean; readonly keepsCopy: boolean },
): Promise<readonly string[]> {
  const faults: string[] = [];
  const left = await leftVolumes(engine);
  const copies = left.filter((volume) => volume.startsWith('upkeep-data-'));
  if (left.length !== copies.length || copies.length !== (isNew && keepsCopy ? 1 : 0))
    faults.push(`volumes are left: ${left.join(', ') || 'none'}`);
  if ((await leftMarks(engine)).length > 0) faults.push('a mark is left');
  for (const name of names) {
    if (!isNew && !(await readyOf(engine, name))) faults.push(`"${name}" refuses its data`);
    const container = await present(engine, name);
    const places = container.Mounts.filter(({ Destination }) => Destination !== '/outside');
    for (const { Source, Destination } of places) {
      const version = readFileSync(join(String(Source), 'version'), 'utf8').trim();
      if (version !== (isNew ? 'v2' : 'v1')) faults.push(`${String(Destination)} has the data of ${version}`);
      const tokens = readFileSync(join(String(Source), 'tokens'), 'utf8');
      const noted = readdirSync(join(folderOf(engine), 'outside-web')).filter((file) => file.startsWith('t-'));
      const lost = noted.filter((token) => !tokens.includes(token));
      if (lost.length > 0) faults.push(`${lost.length} writes of the old version are lost in ${String(Destination)}`);
    }
    if (!isNew && name === names[0] && describeData(container) !== before.get(engine))
      faults.push(`the data differ:\n${before.get(engine)}\nnow:\n${describeData(container)}`);
  }
  return faults;
}

const threePlaces = { binds: ['kept:/data'] };

const everyShape: readonly Shape[] = [
  dataShape(
    'three places, unless-stopped, a bad version',
    { old: 'v1', next: 'bad' },
    { ...threePlaces, policy: 'unless-stopped' },
  ),
  dataShape('three places, always, a good version', { old: 'v1', next: 'v2' }, { ...threePlaces, policy: 'always' }),
  dataShape('three places, without a policy, a bad version', { old: 'v1', next: 'bad' }, threePlaces),
  dataShape(
    'a group with a shared volume, a bad version',
    { old: 'small-v1', next: 'small-bad' },
    { binds: ['kept:/data'], policy: 'unless-stopped', containers: ['vpn', 'app'] },
  ),
  dataShape(
    'a group with a shared volume, a good version',
    { old: 'small-v1', next: 'small-v2' },
    { binds: ['kept:/data'], policy: 'unless-stopped', containers: ['vpn', 'app'] },
  ),
  dataShape(
    'removes itself (--rm), a bad version',
    { old: 'v1', next: 'bad' },
    { ...threePlaces, autoRemove: true },
    { selfRemoving: true, flags: ['--update-auto-remove'] },
  ),
  dataShape(
    'the copy is kept, a good version',
    { old: 'v1', next: 'v2' },
    { ...threePlaces, policy: 'unless-stopped', keepsCopy: true },
    { flags: ['--data-keep', '1h'] },
  ),
  dataShape(
    shapeWithoutSync.slice('data: '.length),
    { old: 'v1', next: 'bad' },
    { ...threePlaces, policy: 'unless-stopped', helper: 'data-helper-without-sync' },
  ),
];

/** Podman before version 5 cannot change a restart policy, so the data of containers with one are not copied there. */
export const dataShapes =
  process.env['LAB_ENGINE'] === 'podman-4.3'
    ? everyShape.filter(({ name }) => /without a policy|--rm/.test(name))
    : everyShape;
