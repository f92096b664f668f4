import { describe, expect, test } from 'vitest';
import { behaviours, type Behaviour } from '../../../sandbox/base/behaviour.ts';
import { amd64 } from '../../../sandbox/registry/registry-store.ts';
import type { SandboxServiceSpec } from '../../../sandbox/swarm/swarm-world.ts';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { makeCosignKey } from '../../../test/support/registry/cosign.ts';
import { readVerificationKeys } from '../../adapters/process/verification-keys.ts';
import { parseImageReference } from '../../domain/image/image-reference.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import { defaultSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';

/** Services of a swarm of three nodes, in the sandbox engine; test/swarm has a real swarm. */

type Wish = {
  readonly next?: Behaviour;
  readonly nextPlatforms?: readonly (typeof amd64)[];
  readonly replicas?: number;
  readonly edit?: (spec: SandboxServiceSpec) => void;
};

const arm64 = { ...amd64, architecture: 'arm64' };
const bothPlatforms = [amd64, arm64].map(({ os, architecture }) => ({ OS: os, Architecture: architecture }));

async function deploy(scene: SandboxScene, name: string, wish: Wish = {}): Promise<string> {
  const { next = behaviours.good, nextPlatforms, replicas = 2, edit = () => {} } = wish;
  const { store } = scene.registry;
  const { digest } = store.publish(`swarm/${name}:1`, { version: '1', behaviour: behaviours.good });
  const spec: SandboxServiceSpec = {
    Name: name,
    Mode: { Replicated: { Replicas: replicas } },
    UpdateConfig: { Parallelism: 1, Monitor: 1e9, FailureAction: 'rollback', Order: 'stop-first' },
    TaskTemplate: { ContainerSpec: { Image: `swarm/${name}:1@${digest}` }, RestartPolicy: { Condition: 'any' } },
  };
  edit(spec);
  const id = scene.sandbox.swarmControl.create(spec);
  await scene.clock.sleep(10_000);
  store.publish(`swarm/${name}:1`, {
    version: '2',
    behaviour: next,
    ...(nextPlatforms && { platforms: nextPlatforms }),
  });
  return id;
}

async function update(scene: SandboxScene, settings: Partial<ServiceSettings> = {}) {
  const process = scene.startProcess();
  const events: ServiceEvent[] = [];
  const application = createApplication(process.outside, { ...defaultSettings, swarm: true, ...settings });
  application.subscribe((event) => events.push(event));
  const session = await application.update({ trigger: 'command', images: [], containers: [] });
  const outcomes = Object.fromEntries(session.containers.map(({ name, outcome }) => [name, outcome]));
  return { session, events, outcomes, complaints: process.complaints };
}

/** `begin web`, `end web`, in their order. */
function turns(events: readonly ServiceEvent[]): readonly string[] {
  return events.flatMap((event) => {
    if (event.kind === 'update_started') return [`begin ${event.container}`];
    return event.kind === 'update_completed' ? [`end ${event.outcome.name}`] : [];
  });
}

async function withContainer(): Promise<SandboxScene> {
  const scene = createSandboxScene({ swarmNodes: 3 });
  scene.registry.store.publish('plain:1', { version: '1' });
  await scene.sandbox.engine.pullImage({ reference: 'plain:1' });
  scene.sandbox.control.runContainer('plain', { Image: 'plain:1' });
  scene.registry.store.publish('plain:1', { version: '2' });
  await deploy(scene, 'web');
  return scene;
}

test('services are updated beside containers', async () => {
  const { events, outcomes } = await update(await withContainer());
  expect(outcomes).toEqual({ plain: 'updated', web: 'updated' });
  expect(turns(events).slice(0, 2).toSorted()).toEqual(['begin plain', 'begin web']);
});

test('services are updated after containers where all is one by one', async () => {
  const { events, outcomes } = await update(await withContainer(), { rollingRestart: true });
  expect(outcomes).toEqual({ plain: 'updated', web: 'updated' });
  expect(turns(events)).toEqual(['begin plain', 'end plain', 'begin web', 'end web']);
});

test('the last outcome of a service is told with it', async () => {
  const scene = createSandboxScene({ swarmNodes: 3 });
  await deploy(scene, 'web', { next: behaviours.crashesAtStart });
  const application = createApplication(scene.startProcess().outside, { ...defaultSettings, swarm: true });
  await application.follow();
  try {
    await application.update({ trigger: 'command', images: [], containers: [] });
    const { containers } = application.inventory();
    expect(containers).toMatchObject([{ name: 'web', kind: 'service', last: { outcome: { outcome: 'rolled_back' } } }]);
  } finally {
    await application.close();
  }
});

test('the tasks that run the new version are counted while it starts', async () => {
  const scene = createSandboxScene({ swarmNodes: 3 });
  const slowly = (spec: SandboxServiceSpec) => (spec.UpdateConfig = { ...spec.UpdateConfig, Delay: 5e9 });
  await deploy(scene, 'web', { replicas: 4, edit: slowly });
  const { events } = await update(scene);
  const counts = events.flatMap((event) => (event.kind === 'phase_entered' ? [event.tasks?.running] : []));
  expect(counts).toEqual(expect.arrayContaining([1, 2, 3, 4]));
  expect(counts).toEqual(counts.toSorted((one, other) => (one ?? 0) - (other ?? 0)));
});

test('the platforms of a spec follow those of the new index', async () => {
  const scene = createSandboxScene({ swarmNodes: 3 });
  const write = (spec: SandboxServiceSpec) => (spec.TaskTemplate.Placement = { Platforms: bothPlatforms });
  const id = await deploy(scene, 'web', { nextPlatforms: [amd64], edit: write });
  const { outcomes } = await update(scene);
  expect(outcomes).toEqual({ web: 'updated' });
  expect((await scene.sandbox.swarm.service(id))?.platforms).toEqual([amd64]);
});

test('a spec without platforms stays without', async () => {
  const scene = createSandboxScene({ swarmNodes: 3 });
  const id = await deploy(scene, 'web', { nextPlatforms: [amd64, arm64] });
  await update(scene);
  expect((await scene.sandbox.swarm.service(id))?.platforms).toBeUndefined();
});

test('a version that crashed is held by the next run, also where the swarm keeps no history', async () => {
  const scene = createSandboxScene({ swarmNodes: 3 });
  scene.sandbox.swarmControl.keepHistory(0);
  await deploy(scene, 'web', { next: behaviours.crashesAtStart });
  expect((await update(scene)).outcomes).toEqual({ web: 'rolled_back' });
  expect((await update(scene)).outcomes).toEqual({ web: 'skipped' });
});

test('a version that the swarm took back with nobody there is remembered, until the tag moves on', async () => {
  const scene = createSandboxScene({ swarmNodes: 3 });
  const id = await deploy(scene, 'web', { next: behaviours.crashesAtStart });
  const { swarm, swarmControl } = scene.sandbox;
  const { store } = scene.registry;
  const { digest: crashing } = store.publish('swarm/web:1', { version: '2', behaviour: behaviours.crashesAtStart });
  swarmControl.update(id, (spec) => (spec.TaskTemplate.ContainerSpec.Image = `swarm/web:1@${crashing}`));
  await scene.clock.sleep(60_000);
  expect((await swarm.service(id))?.update?.state).toBe('rollback_completed');
  expect((await update(scene)).outcomes).toEqual({ web: 'skipped' });
  expect((await swarm.failures()).map(({ digest }) => digest)).toEqual([crashing]);
  store.publish('swarm/web:1', { version: '3', behaviour: behaviours.good });
  expect((await update(scene)).outcomes).toEqual({ web: 'updated' });
  expect(await swarm.failures()).toEqual([]);
});

test.each([
  ['a pause of half an hour between its tasks', { Delay: 1800e9 }],
  ['a watch of an hour over each task', { Monitor: 3600e9 }],
])('a service with %s is no update that has stalled', async (_, config) => {
  const scene = createSandboxScene({ swarmNodes: 3 });
  await deploy(scene, 'web', { edit: (spec) => (spec.UpdateConfig = { ...spec.UpdateConfig, ...config }) });
  expect((await update(scene)).outcomes).toEqual({ web: 'updated' });
});

describe('a service of Upkeep that finds an interrupted update of a swarm service', () => {
  /** The update of "web" has begun, and its window lasts an hour. The tag of "api" has moved too. */
  async function interrupted(next = behaviours.good) {
    const scene = createSandboxScene({ swarmNodes: 3 });
    const id = await deploy(scene, 'web', {
      next,
      edit: (spec) => (spec.UpdateConfig = { ...spec.UpdateConfig, Monitor: 3600e9 }),
    });
    const stop = new AbortController();
    const first = createApplication(scene.startProcess().outside, { ...defaultSettings, swarm: true });
    first.subscribe(({ kind }) => kind === 'phase_entered' && stop.abort());
    const order = { trigger: 'command', images: [], containers: [] } as const;
    await first.update(order, stop.signal);
    await deploy(scene, 'api');
    const application = createApplication(
      scene.startProcess().outside,
      { ...defaultSettings, swarm: true },
      {},
      { isService: true },
    );
    const settled: unknown[] = [];
    application.subscribe((event) => event.kind === 'earlier_updates_settled' && settled.push(...event.transactions));
    return { scene, id, application, order, settled };
  }

  test('updates others meanwhile, and that one not, and tells its end once', async () => {
    const { scene, application, order, settled } = await interrupted();
    const { transactions } = await application.recover();
    expect(transactions).toMatchObject([{ containers: ['web'], kind: 'service', result: 'left', isUnderWay: true }]);
    expect((await application.recover()).transactions).toEqual([]);
    scene.registry.store.publish('swarm/web:1', { version: '3', behaviour: behaviours.good });
    const { containers } = await application.update(order);
    expect(Object.fromEntries(containers.map(({ name, outcome, reason }) => [name, `${outcome} ${reason}`]))).toEqual({
      web: 'deferred an interrupted update of "web" is being repaired',
      api: 'updated ',
    });
    expect(settled).toEqual([]);
    await scene.clock.sleep(2 * 3_600_000);
    expect(settled).toMatchObject([{ containers: ['web'], kind: 'service', result: 'finished' }]);
    expect((await application.update(order)).containers.find(({ name }) => name === 'web')?.outcome).toBe('updated');
    await application.close();
  });

  test('leaves it to the next start when it is closed', async () => {
    const { scene, application } = await interrupted();
    await application.recover();
    await application.close();
    const next = createApplication(scene.startProcess().outside, { ...defaultSettings, swarm: true });
    expect((await next.recover()).transactions).toMatchObject([{ containers: ['web'], result: 'finished' }]);
  });

  test('reports one end, if the swarm takes the new version back', async () => {
    const { scene, application, settled } = await interrupted(behaviours.crashesAtStart);
    await application.recover();
    for (let minutes = 0; minutes < 5; minutes += 1) {
      await scene.clock.sleep(60_000);
      await application.recover();
    }
    expect(settled).toMatchObject([{ containers: ['web'], kind: 'service', result: 'undone' }]);
    expect((await scene.sandbox.swarm.failures()).length).toBe(1);
    await application.close();
  });
});

test('a repair is told to the targets that the label of the service names', async () => {
  const scene = createSandboxScene({ swarmNodes: 3 });
  const labelled = (spec: SandboxServiceSpec) => (spec.Labels = { 'upkeep.notify': 'ops' });
  const id = await deploy(scene, 'web', { next: behaviours.crashesAtStart, edit: labelled });
  const { digest } = scene.registry.store.publish('swarm/web:1', {
    version: '2',
    behaviour: behaviours.crashesAtStart,
  });
  scene.sandbox.swarmControl.update(id, (spec) => (spec.TaskTemplate.ContainerSpec.Image = `swarm/web:1@${digest}`));
  await scene.clock.sleep(60_000);
  const application = createApplication(scene.startProcess().outside, { ...defaultSettings, swarm: true });
  expect((await application.recover()).transactions).toMatchObject([
    { containers: ['web'], kind: 'service', result: 'undone', recipients: { web: ['ops'] } },
  ]);
});

/** A service of two nodes with these platforms. Its tag has moved to an index, and a key has signed one of its parts. */
async function signedService(
  nodes: readonly (typeof amd64)[],
  signed: 'index' | 'image',
  {
    labels = {},
    name = 'docker.io/swarm/web',
  }: { readonly labels?: Readonly<Record<string, string>>; readonly name?: string } = {},
) {
  const scene = createSandboxScene({ swarmNodes: nodes.length });
  const { world } = scene.sandbox.ownSwarm;
  for (const [at, node] of [...world.nodes.values()].entries()) node.platform = nodes[at] ?? amd64;
  await deploy(scene, 'web', { nextPlatforms: [arm64, amd64], ...labelled(labels) });
  const { store } = scene.registry;
  const index = await store.fetch(parseImageReference('swarm/web:1'));
  const images = index.kind === 'index' ? index.images : [];
  const key = makeCosignKey('team');
  const digests = signed === 'index' ? [index.digest] : images.map(({ manifestDigest }) => manifestDigest);
  for (const digest of digests) store.sign(`swarm/web@${digest}`, key.signImage(digest, name));
  const verificationKeys = await readVerificationKeys([key.file]);
  const run = async () => {
    const { outside } = scene.startProcess();
    const application = createApplication({ ...outside, verificationKeys }, { ...defaultSettings, swarm: true });
    return (await application.update({ trigger: 'command', images: [], containers: [] })).containers[0];
  };
  const image = () => [...world.services.values()][0]?.spec.TaskTemplate.ContainerSpec.Image;
  return { run, image, index: index.digest, plain: images[1]!.manifestDigest };
}

test.each([
  ['the image that is signed, if the nodes need no other', [amd64, amd64], 'image', 'plain'],
  ['an index that is signed', [amd64, amd64], 'index', 'index'],
  ['an index that is signed, for all platforms', [amd64, arm64], 'index', 'index'],
] as const)('a service gets %s', async (_, nodes, signed, pinned) => {
  const scene = await signedService(nodes, signed);
  expect(await scene.run()).toMatchObject({ outcome: 'updated' });
  expect(scene.image()).toBe(`swarm/web:1@${scene[pinned]}`);
  expect(await scene.run()).toMatchObject({ outcome: 'fresh' });
});

test.each([
  [
    'signed under another name, unless its label allows it',
    'ghcr.io/team/web',
    { 'upkeep.verify-identity': 'ghcr.io/team/web' },
  ],
  ['of a service that asks for nothing else', 'docker.io/swarm/web', {}],
])('a service gets an image %s', async (_, name, labels) => {
  const scene = await signedService([amd64], 'index', { name, labels });
  expect(await scene.run()).toMatchObject({ outcome: 'updated' });
  const strict = await signedService([amd64], 'index', { name, labels: { 'upkeep.verify-annotation': 'env=prod' } });
  expect(await strict.run()).toMatchObject({ outcome: 'skipped', reason: expect.stringContaining('not signed by') });
});

test('a service stays, if its nodes need several images of an index that is not signed', async () => {
  const scene = await signedService([amd64, arm64], 'image');
  const before = scene.image();
  expect(await scene.run()).toMatchObject({
    outcome: 'skipped',
    reason: expect.stringContaining(
      'its index has no signature, and the nodes need several of its images: sign the index',
    ),
  });
  expect(scene.image()).toBe(before);
});

function labelled(Labels: Readonly<Record<string, string>>): Wish {
  return { edit: (spec) => Object.assign(spec, { Labels }) };
}

test.each<[string, Partial<ServiceSettings>, string]>([
  ['upkeep.approve: true', {}, 'Waits for your approval'],
  ['com.centurylinklabs.watchtower.approve: true', {}, 'Waits for your approval'],
  ['upkeep.approve: whatever', {}, 'Waits for your approval'],
  ['upkeep.window: Mon 00:00-00:01', {}, 'Its window opens'],
  ['upkeep.window: at night', {}, 'Its window cannot be read'],
  ['upkeep.verify: team', {}, 'not signed by "team": no key of that name is given'],
  ['upkeep.verify: ', { verifyWith: { kind: 'off' } }, 'the label upkeep.verify cannot be read: it is empty'],
  ['upkeep.verify-annotation: env=prod', {}, 'no key is given with --verify-key'],
  ['com.centurylinklabs.watchtower.verify-annotation: env', {}, 'the label upkeep.verify-annotation cannot be read'],
  ['upkeep.no-pull: true', {}, 'Its label "upkeep.no-pull" cannot be followed on a service'],
  ['com.centurylinklabs.watchtower.no-pull: true', {}, 'cannot be followed on a service'],
  ['upkeep.no-restart: ture', {}, 'Its label "upkeep.no-restart" cannot be followed on a service'],
  ['upkeep.from-registry: false', {}, 'Its label "upkeep.from-registry" cannot be followed on a service'],
  ['upkeep.data: volumes', {}, 'so their data cannot be copied; remove it to update the service'],
  ['upkeep.health-probe: http://:80/', {}, 'Its label "upkeep.health-probe" cannot be followed'],
  ['upkeep.lifecycle.pre-update: exit 75', { lifecycleHooks: true }, 'Its label "upkeep.lifecycle.pre-update"'],
  [
    'com.centurylinklabs.watchtower.lifecycle.pre-update: exit 75',
    { lifecycleHooks: true },
    'Its label "com.centurylinklabs.watchtower.lifecycle.pre-update"',
  ],
])('a label that restrains updates holds a service too: %s', async (label, settings, reason) => {
  const scene = createSandboxScene({ swarmNodes: 3 });
  const [name = '', value = ''] = label.split(': ');
  await deploy(scene, 'held', labelled({ [name]: value }));
  await deploy(scene, 'free');
  const { outcomes, session, events } = await update(scene, settings);
  expect(outcomes).toEqual({ free: 'updated', held: expect.toBeOneOf(['skipped', 'deferred']) });
  expect(session.containers.find((one) => one.name === 'held')?.reason).toContain(reason);
  expect(turns(events)).toEqual(['begin free', 'end free']);
});

test('labels of the tasks restrain too, and those of the service win', async () => {
  const scene = createSandboxScene({ swarmNodes: 3 });
  const task = (Labels: object, own: object = {}): Wish => ({
    edit: (spec) => {
      Object.assign(spec.TaskTemplate.ContainerSpec, { Labels });
      Object.assign(spec, { Labels: own });
    },
  });
  await deploy(scene, 'asked', task({ 'upkeep.approve': 'true' }));
  await deploy(scene, 'free', task({ 'upkeep.approve': 'true' }, { 'upkeep.approve': 'false' }));
  await deploy(scene, 'pulled', task({ 'upkeep.no-pull': 'true' }, { 'upkeep.no-pull': 'false' }));
  const { outcomes } = await update(scene);
  expect(outcomes).toEqual({ asked: 'skipped', free: 'updated', pulled: 'updated' });
});

test('a service whose version is approved is updated, and one that is skipped meanwhile is not', async () => {
  const scene = createSandboxScene({ swarmNodes: 3 });
  await deploy(scene, 'web', labelled({ 'upkeep.approve': 'true' }));
  const process = scene.startProcess();
  const application = createApplication(process.outside, { ...defaultSettings, swarm: true });
  const decide = (kind: 'approve' | 'skip') => {
    const digest = application.decisions.candidateOf('web')?.digest ?? '';
    return application.decisions.take({ kind, container: 'web', digest, by: 'me' });
  };
  await application.check({ images: [], containers: [] });
  await decide('approve');
  application.subscribe((event) => {
    if (event.kind === 'container_checked') void decide('skip');
  });
  const run = async () => (await application.update({ trigger: 'command', images: [], containers: [] })).containers;
  expect(await run()).toMatchObject([
    { name: 'web', outcome: 'deferred', reason: expect.stringContaining('kipped by') },
  ]);
  expect(await run()).toMatchObject([{ name: 'web', outcome: 'skipped' }]);
});
