import { createInstance } from '../../../../src/adapters/process/instance.ts';
import { readJournal } from '../../../../src/domain/transaction/journal.ts';
import { catalogue } from '../../../lab/registry/catalogue.ts';
import type { EngineClient, Inspected } from '../../../lab/engine/engine-client.ts';
import type { LabEngine } from '../../../lab/engine/engine.ts';
import { imageIdOf } from '../../../lab/engine/image-id.ts';
import type { Lab } from '../../../lab/lab.ts';
import { pushImage } from '../../../lab/registry/push.ts';
import {
  bystanders,
  finishedJournal,
  type Forgery,
  forgedLabels,
  forgersMark,
  type Labels,
  nameIn,
  type Street,
} from '../forgery/forgery.ts';
import type { Shape } from '../shapes.ts';
import type { Stage } from '../stage.ts';
import { harmBetween, type StreetView } from './street-harm.ts';

/** A stage on a real engine with unrelated containers, and a forger who may create containers there. */
export type EngineStreet = {
  readonly forge: (forgery: Forgery) => Promise<void>;
  readonly harm: () => Promise<string[]>;
  /** Ids outside of the honest update. */
  readonly apart: () => Promise<ReadonlySet<string>>;
};

const labels = ['shared', 'private', 'own', 'spare'] as const;
type Reference = (typeof labels)[number];

export async function makeStreet(lab: Lab, stage: Stage, shape: Shape, real: Labels): Promise<EngineStreet> {
  const { engine } = stage;
  const references = await pullAll(lab, engine);
  await settle(engine, references, real);
  const everyone = await inspectAll(engine);
  const known = new Set(everyone.map(({ Id }) => Id));
  const byName = new Map(everyone.map((container) => [container.Name.slice(1), container]));
  const [web = '', app = web] = Object.keys(shape.containers);
  const before = await viewOf(engine);
  const made = new Set<string>();

  const street = async (): Promise<Street> => ({
    who: (party) => {
      const name = party === 'web' ? web : party === 'app' ? app : party;
      const container = byName.get(name);
      if (container === undefined) throw new Error(`there is no "${name}"`);
      const { Id: id, Image: imageId, Config } = container;
      return { id, name, imageId, reference: Config.Image, labels: Config.Labels };
    },
    thing: (thing) => ({ reference: references[thing], imageId: before.tags[references[thing]] ?? '' }),
    open: (await inspectAll(engine)).find(({ Id, Config }) => {
      return !known.has(Id) && !made.has(Id) && readJournal(Config.Labels).kind === 'journal';
    })?.Config.Labels,
    real,
    stray: 'xx',
    owners: {
      alive: createInstance().owner,
      dead: createInstance().owner.replace(/:(\d+):(\d*):([^:]*)$/, ':4194000:1:$3'),
      elsewhere: 'process:another-host:2c8f6c1e-0000-4000-8000-000000000000:4026531836:77:1234:',
    },
  });

  return {
    forge: async (forgery) => {
      const now = await street();
      const { body, status } = await engine.call('POST', `/containers/create?name=${nameIn(now, forgery.createdAs)}`, {
        Image: forgery.image === 'own' ? references.own : now.who(forgery.image).reference,
        Env: [forgersMark],
        Labels: forgedLabels(now, forgery),
        StopTimeout: 1,
        HostConfig: { RestartPolicy: { Name: forgery.policy } },
      });
      // The forger cannot do more than the engine allows.
      if (status !== 201) return;
      const { Id } = body as { readonly Id: string };
      made.add(Id);
      if (forgery.state !== 'created') await engine.call('POST', `/containers/${Id}/start`);
      if (forgery.state === 'exited') await engine.call('POST', `/containers/${Id}/stop?t=0`);
      const { renamedTo } = forgery;
      if (renamedTo !== undefined) await engine.call('POST', `/containers/${Id}/rename?name=${nameIn(now, renamedTo)}`);
    },
    harm: async () =>
      harmBetween(before, await viewOf(engine), {
        tag: stage.image,
        ids: new Set([imageIdOf(stage.versions.old), imageIdOf(stage.versions.next)]),
      }),
    apart: async () => {
      const forged = (await inspectAll(engine)).filter(({ Config }) =>
        (Config['Env'] as readonly string[] | null)?.includes(forgersMark),
      );
      const others = bystanders.flatMap((name) => byName.get(name)?.Id ?? []);
      return new Set([...made, ...others, ...forged.map(({ Id }) => Id)]);
    },
  };
}

/** The images of all streets, once. */
export async function pushStreet(lab: Lab): Promise<void> {
  for (const label of labels) {
    const config = { ...catalogue['plain-v1'].config, Labels: { 'test.label': label } };
    await pushImage(lab.registry, `street/${label}`, '1', { config });
  }
}

async function pullAll(lab: Lab, engine: LabEngine): Promise<Readonly<Record<Reference, string>>> {
  const referenceOf = (label: Reference) => `${lab.registry.host}/street/${label}:1`;
  for (const label of labels) await engine.pull(referenceOf(label));
  return Object.fromEntries(labels.map((label) => [label, referenceOf(label)])) as Record<Reference, string>;
}

/** Like the street in memory. */
async function settle(engine: LabEngine, references: Readonly<Record<Reference, string>>, real: Labels): Promise<void> {
  const { shared } = references;
  const body = (Name: string, more: object = {}) => ({
    StopTimeout: 1,
    HostConfig: { RestartPolicy: { Name } },
    ...more,
  });
  const stopped = async (name: string, image: string, config: object) => {
    await engine.call('POST', `/containers/${await engine.run(name, image, config)}/stop?t=0`);
  };
  await engine.call('POST', `/images/${encodeURIComponent(shared)}/tag?repo=app&tag=v1`);
  await engine.run('vault', shared, body('always'));
  await stopped('job', 'app:v1', body('no'));
  await engine.create('idle', shared, body('no'));
  await engine.run('private', references.private, body('unless-stopped', { Labels: { 'upkeep.enable': 'false' } }));
  const family = { Labels: { 'com.centurylinklabs.watchtower.enable': 'false' } };
  await stopped('shy', references.private, body('no', family));
  await stopped('scoped', shared, body('on-failure', { Labels: { 'upkeep.scope': 'theirs' } }));
  await engine.run('veteran', shared, body('always', { Labels: finishedJournal(real, 'veteran') }));
  await stopped('rested', shared, body('no', { Labels: finishedJournal(real, 'rested') }));
  const template = await engine.create('template', shared, { Labels: finishedJournal(real, 'committed') });
  await engine.call('POST', `/commit?container=${template}&repo=committed&tag=1`, {
    Cmd: ['sleep', '1000000'],
    Labels: finishedJournal(real, 'committed'),
  });
  await engine.call('DELETE', `/containers/${template}?force=1`);
  await engine.create('committed', 'committed:1', body('no'));
}

async function inspectAll(engine: EngineClient): Promise<readonly Inspected[]> {
  const { body } = await engine.call('GET', '/containers/json?all=1');
  const found = await Promise.all((body as { readonly Id: string }[]).map(({ Id }) => engine.inspect(Id)));
  return found.filter((container) => container !== undefined);
}

async function viewOf(engine: EngineClient): Promise<StreetView> {
  const { body } = await engine.call('GET', '/images/json');
  const images = body as { readonly Id: string; readonly RepoTags: readonly string[] | null }[];
  return {
    containers: (await inspectAll(engine)).map(({ Id: id, Name, State, HostConfig }) => ({
      id,
      name: Name.slice(1),
      status: State.Status,
      startedAt: State.StartedAt,
      policy: HostConfig.RestartPolicy.Name || 'no',
    })),
    tags: Object.fromEntries(images.flatMap(({ Id, RepoTags }) => (RepoTags ?? []).map((tag) => [tag, Id]))),
    imageIds: images.map(({ Id }) => Id),
  };
}
