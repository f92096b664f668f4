import type { Snapshot } from '../../../sandbox/world/view.ts';
import type { Container } from '../../../src/domain/container/container.ts';
import { journalPrefix } from '../../../src/domain/image/labels.ts';
import { readJournal } from '../../../src/domain/transaction/journal.ts';
import {
  bystanders,
  finishedJournal,
  forgedLabels,
  type Forgery,
  forgersMark,
  type Inhabitant,
  journalLabels,
  type Labels,
  nameIn,
  type Street,
} from '../rig/forgery/forgery.ts';
import { harmBetween, type StreetView } from '../rig/people/street-harm.ts';
import { countCalls, shapes, type Stage } from './stage.ts';

/** A stage with unrelated containers, and a forger who may create containers there. */
export type SharedStreet = {
  readonly forge: (forgery: Forgery) => Promise<void>;
  /** Changes since the start, except for containers of the forger and the honest update. */
  readonly harm: () => string[];
  /** Names outside of the honest update. */
  readonly apart: () => ReadonlySet<string>;
};

const shared = 'registry.test/shared:1';
const references = {
  private: 'registry.test/private:1',
  own: 'registry.test/forged:1',
  spare: 'registry.test/spare:1',
};
const local = 'app:v1';

let known: Labels | undefined;

/** Labels of a successor from an undisturbed update. */
export async function realLabels(): Promise<Labels> {
  const [shape] = shapes;
  if (shape === undefined) throw new Error('there is no shape');
  if (known !== undefined) return known;
  const { stage } = await countCalls(shape);
  const labels = stage.scene.sandbox.control.snapshot().containers['web']?.settings.Config.Labels ?? {};
  if (labels[`${journalPrefix}v`] === undefined) throw new Error('an update has left no journal');
  known = labels;
  return labels;
}

export async function makeStreet(stage: Stage): Promise<SharedStreet> {
  const { sandbox, registry, startProcess } = stage.scene;
  const { control, engine } = sandbox;
  const alive = startProcess().outside.instance.owner;
  const { outside, connection } = startProcess();
  connection.crash();
  const dead = outside.instance.owner;
  // Ids of transactions count up in memory, so a forger could guess the next one.
  const real = { ...(await realLabels()), ...journalLabels({ owner: dead, id: 'of another street' }) };
  for (const reference of [shared, ...Object.values(references)]) {
    registry.store.publish(reference, { version: reference });
    await engine.pullImage({ reference });
  }
  control.addImage(local, { version: 'local' });
  control.addImage('committed:1', { version: 'committed', config: { Labels: finishedJournal(real, 'committed') } });
  await settle(stage, real);
  const before = control.snapshot();
  const ids = new Map(Object.values(before.containers).map(({ name, id }) => [name, id]));

  const describe = (name: string): Inhabitant => {
    const container = containerOf(before.containers, ids.get(name) ?? ids.get('web') ?? '');
    if (container === undefined) throw new Error(`there is no "${name}"`);
    const { Image: reference, Labels: labels } = container.settings.Config;
    return { ...container, reference, labels: labels ?? {} };
  };
  const street = (): Street => ({
    who: describe,
    thing: (thing) => ({ reference: references[thing], imageId: before.tags[references[thing]] ?? '' }),
    open: openLabels(control.snapshot().containers, ids),
    real,
    stray: 'xx',
    owners: { dead, alive, elsewhere: 'elsewhere 4242' },
  });

  return {
    forge: async (forgery) => {
      const now = street();
      const Image = forgery.image === 'own' ? references.own : now.who(forgery.image).reference;
      const id = attempt(() =>
        control.addContainer(nameIn(now, forgery.createdAs), {
          Image,
          Env: [forgersMark],
          Labels: forgedLabels(now, forgery),
          HostConfig: { RestartPolicy: { Name: forgery.policy, MaximumRetryCount: 0 } },
        }),
      );
      if (id === undefined) return;
      if (forgery.state !== 'created') attempt(() => control.startContainer(id));
      if (forgery.state === 'exited') await control.stopContainer(id, 0);
      const { renamedTo } = forgery;
      if (renamedTo !== undefined) attempt(() => control.renameContainer(id, nameIn(now, renamedTo)));
    },
    harm: () =>
      harmBetween(viewOf(before), viewOf(control.snapshot()), {
        tag: honestTag,
        ids: new Set([stage.newImageId, ...[...stage.before.values()].map(({ imageId }) => imageId)]),
      }),
    apart: () =>
      new Set([
        ...bystanders,
        ...Object.values(control.snapshot().containers)
          .filter(({ settings }) => settings.Config.Env?.includes(forgersMark))
          .map(({ name }) => name),
      ]),
  };
}

const honestTag = 'registry.test/app:stable';

/** All kinds of containers: running and not, opted out, of another scope, updated before, made of an image with a journal in it. */
async function settle({ scene }: Stage, real: Labels): Promise<void> {
  const { control } = scene.sandbox;
  const policy = (Name: string) => ({ HostConfig: { RestartPolicy: { Name, MaximumRetryCount: 0 } } });
  const Image = shared;
  control.runContainer('vault', { Image, ...policy('always') });
  control.runContainer('job', { Image: local, ...policy('no') });
  await control.stopContainer('job');
  control.addContainer('idle', { Image, ...policy('no') });
  const Labels = { 'upkeep.enable': 'false' };
  control.runContainer('private', { Image: references.private, Labels, ...policy('unless-stopped') });
  const family = { 'com.centurylinklabs.watchtower.enable': 'false' };
  control.runContainer('shy', { Image: references.private, Labels: family, ...policy('no') });
  await control.stopContainer('shy');
  control.runContainer('scoped', { Image, Labels: { 'upkeep.scope': 'theirs' }, ...policy('on-failure') });
  await control.stopContainer('scoped');
  control.runContainer('veteran', { Image, Labels: finishedJournal(real, 'veteran'), ...policy('always') });
  control.runContainer('rested', { Image, Labels: finishedJournal(real, 'rested'), ...policy('no') });
  await control.stopContainer('rested');
  control.addContainer('committed', { Image: 'committed:1', ...policy('no') });
}

function containerOf(containers: Readonly<Record<string, Container>>, id: string): Container | undefined {
  return Object.values(containers).find((container) => container.id === id);
}

function openLabels(containers: Readonly<Record<string, Container>>, known: ReadonlyMap<string, string>) {
  for (const { id, settings } of Object.values(containers)) {
    const labels = settings.Config.Labels ?? {};
    const isForged = settings.Config.Env?.includes(forgersMark) === true;
    if (!isForged && ![...known.values()].includes(id) && readJournal(labels).kind === 'journal') return labels;
  }
  return undefined;
}

function viewOf({ containers, tags, imageIds }: Snapshot): StreetView {
  const told = ({ id, name, state, settings }: Container) => {
    const policy = settings.HostConfig.RestartPolicy?.Name || 'no';
    return { id, name, status: state.status, startedAt: state.startedAt, policy };
  };
  return { containers: Object.values(containers).map(told), tags, imageIds };
}

/** Ignores refusals, because the forger cannot do more than the engine allows. */
function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
