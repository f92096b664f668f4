import { recoverTransactions } from '../../../src/application/recovery/recover.ts';
import { runTransaction } from '../../../src/application/transaction/run-transaction.ts';
import type { Behaviour } from '../../../sandbox/base/behaviour.ts';
import type { PlannedFault } from '../../../sandbox/engine/calls.ts';
import { defaultSettings, type DesiredEndState } from '../../../src/domain/settings/effective-settings.ts';
import { type Container, isAlive } from '../../../src/domain/container/container.ts';
import { isFailedVersionTag } from '../../../src/domain/check/known-versions.ts';
import type { OutcomeKind } from '../../../src/domain/run/session.ts';
import { parseKeptName } from '../../../src/domain/transaction/transaction-names.ts';
import type { PlannedTransaction } from '../../../src/domain/plan/update-plan.ts';
import { createSandboxScene, type SandboxScene } from '../../support/scene/sandbox-outside.ts';

/** One or two containers in their state before an update, and the new version of their image. */
export type Shape = {
  readonly name: string;
  readonly next: Behaviour & { readonly sick?: boolean };
  readonly good: boolean;
  /** The old container is unhealthy before its update. */
  readonly wasSick?: boolean;
  readonly body: object;
  readonly stopped?: boolean;
  /** Expected state, if it is not the state before. */
  readonly desiredEndState?: DesiredEndState;
  readonly dependent?: boolean;
  /**
   * `--rm`: the restored container is a copy, and an engine that restarts removes containers that are not being
   * replaced.
   */
  readonly selfRemoving?: boolean;
  /** True if the replaced container is kept. */
  readonly keeps?: boolean;
  /** Its volumes are copied, and each version writes its number into them at every start. */
  readonly hasData?: true;
  /** User networks that it is in. Nobody else uses them. */
  readonly networks?: readonly string[];
  /** Of the old image, and of the new one. */
  readonly imageLabels?: Readonly<Partial<Record<'old' | 'next', Readonly<Record<string, string>>>>>;
};

const withData = { Labels: { 'upkeep.data': 'volumes' } };

const restart = (Name: string) => ({ RestartPolicy: { Name, MaximumRetryCount: 0 } });
export const shapes: readonly Shape[] = [
  {
    name: 'unless-stopped with a port',
    next: {},
    good: true,
    body: { HostConfig: { ...restart('unless-stopped'), PortBindings: { '80/tcp': [{ HostPort: '8080' }] } } },
  },
  {
    name: 'always with volumes',
    next: {},
    good: true,
    body: { Volumes: { '/scratch': {} }, HostConfig: { ...restart('always'), Binds: ['kept:/data'] } },
  },
  { name: 'without a policy', next: {}, good: true, body: {} },
  {
    name: 'in two networks',
    next: {},
    good: true,
    body: { HostConfig: { ...restart('unless-stopped'), NetworkMode: 'front' } },
    networks: ['front', 'back'],
  },
  {
    name: 'started before the old one is stopped, with volumes',
    next: {},
    good: true,
    body: {
      Labels: { 'upkeep.start-first': 'true' },
      HostConfig: { ...restart('unless-stopped'), Binds: ['kept:/data'] },
    },
  },
  {
    name: 'started before the old one is stopped, and ends later',
    next: { exitsAfterMs: 5000, exitCode: 4 },
    good: false,
    body: { Labels: { 'upkeep.start-first': 'true' }, HostConfig: restart('always') },
  },
  {
    name: 'the new version ends at once',
    next: { exitsAfterMs: 1, exitCode: 3 },
    good: false,
    body: { HostConfig: restart('on-failure') },
  },
  {
    name: 'the new version ends later',
    next: { exitsAfterMs: 5000, exitCode: 4 },
    good: false,
    body: { HostConfig: restart('unless-stopped') },
  },
  {
    name: 'the new version cannot start',
    next: { startError: 'exec: "service": not found' },
    good: false,
    body: { HostConfig: restart('always') },
  },
  {
    name: 'the new version is never healthy',
    next: { sick: true },
    good: false,
    body: { HostConfig: restart('unless-stopped') },
  },
  {
    name: 'unhealthy before its update and after it',
    wasSick: true,
    next: { sick: true },
    good: true,
    body: { HostConfig: restart('unless-stopped') },
  },
  {
    name: 'unhealthy before its update, and the new version ends later',
    wasSick: true,
    next: { exitsAfterMs: 5000, exitCode: 4 },
    good: false,
    body: { HostConfig: restart('always') },
  },
  { name: 'stopped', next: {}, good: true, body: { HostConfig: restart('unless-stopped') }, stopped: true },
  {
    name: 'removes itself (--rm), with volumes',
    next: {},
    good: true,
    body: { Volumes: { '/scratch': {} }, HostConfig: { AutoRemove: true, Binds: ['kept:/data'] } },
    selfRemoving: true,
  },
  {
    name: 'in two networks, and the new version ends later',
    next: { exitsAfterMs: 5000, exitCode: 4 },
    good: false,
    body: { HostConfig: { ...restart('always'), NetworkMode: 'front' } },
    networks: ['front', 'back'],
  },
  {
    name: 'in two networks, and the new version is never healthy',
    next: { sick: true },
    good: false,
    body: { HostConfig: { ...restart('unless-stopped'), NetworkMode: 'front' } },
    networks: ['front', 'back'],
  },
  {
    name: 'removes itself (--rm), in two networks',
    next: {},
    good: true,
    body: { HostConfig: { AutoRemove: true, NetworkMode: 'front' } },
    selfRemoving: true,
    networks: ['front', 'back'],
  },
  {
    name: 'removes itself, and the new version ends at once',
    next: { exitsAfterMs: 1, exitCode: 3 },
    good: false,
    body: { Volumes: { '/scratch': {} }, HostConfig: { AutoRemove: true } },
    selfRemoving: true,
  },
  {
    name: 'removes itself, and the new version is never healthy',
    next: { sick: true },
    good: false,
    body: { HostConfig: { AutoRemove: true } },
    selfRemoving: true,
  },
  {
    name: 'kept after its update, with volumes',
    next: {},
    good: true,
    body: {
      Labels: { 'upkeep.keep-old': '1h' },
      Volumes: { '/scratch': {} },
      HostConfig: { ...restart('always'), Binds: ['kept:/data'] },
    },
    keeps: true,
  },
  {
    name: 'kept after its update, had it not been a bad version',
    next: { exitsAfterMs: 5000, exitCode: 4 },
    good: false,
    body: { Labels: { 'upkeep.keep-old': '1h' }, HostConfig: restart('on-failure') },
  },
  {
    name: 'with a container in its network namespace',
    next: {},
    good: true,
    body: { HostConfig: restart('unless-stopped') },
    dependent: true,
  },
  {
    name: 'with a container in its namespace, bad version',
    next: { exitsAfterMs: 1 },
    good: false,
    body: { HostConfig: restart('always') },
    dependent: true,
  },
  {
    name: 'to be left stopped',
    next: {},
    good: true,
    body: { HostConfig: restart('unless-stopped') },
    desiredEndState: 'stopped',
  },
  {
    name: 'stopped, to be revived',
    next: {},
    good: true,
    body: { HostConfig: restart('unless-stopped') },
    stopped: true,
    desiredEndState: 'running',
  },
  {
    name: 'stopped, to be revived to a bad version',
    next: { exitsAfterMs: 10 },
    good: false,
    body: { HostConfig: restart('unless-stopped') },
    stopped: true,
    desiredEndState: 'running',
  },
  {
    name: 'a job to be run to its end',
    next: { exitsAfterMs: 15_000 },
    good: true,
    body: { HostConfig: restart('no') },
    stopped: true,
    desiredEndState: 'completed',
  },
  {
    name: 'its data are copied, with volumes',
    next: { marksVolumes: 'v2' },
    good: true,
    body: { ...withData, Volumes: { '/scratch': {} }, HostConfig: { ...restart('always'), Binds: ['kept:/data'] } },
    hasData: true,
  },
  {
    name: 'its data are copied, and the new version ends later',
    next: { marksVolumes: 'v2', exitsAfterMs: 5000, exitCode: 4 },
    good: false,
    body: {
      ...withData,
      Volumes: { '/scratch': {} },
      HostConfig: { ...restart('unless-stopped'), Binds: ['kept:/data'] },
    },
    hasData: true,
  },
  {
    name: 'its data are copied, removes itself, and the new version ends at once',
    next: { marksVolumes: 'v2', exitsAfterMs: 1, exitCode: 3 },
    good: false,
    body: { ...withData, Volumes: { '/scratch': {} }, HostConfig: { AutoRemove: true } },
    hasData: true,
    selfRemoving: true,
  },
  {
    name: 'with hooks before and after',
    next: { commands: { hook: { tookMs: 1000 } } },
    good: true,
    body: {
      HostConfig: restart('unless-stopped'),
      Labels: { 'upkeep.lifecycle.pre-update': 'hook', 'upkeep.lifecycle.post-update': 'hook' },
    },
  },
];

const image = 'registry.test/app:stable';
/** Settings of the service on a stage. */
export const settings = {
  ...defaultSettings,
  healthWindowMs: 10_000,
  stopTimeoutMs: 3000,
  lifecycleHooks: true,
  dataImage: 'upkeep-tools:1',
};

/** A shape on an engine in memory, with its update planned. */
export type Stage = {
  readonly scene: SandboxScene;
  readonly planned: PlannedTransaction;
  readonly before: ReadonlyMap<string, Container>;
  readonly newImageId: string;
};

export async function setStage(shape: Shape): Promise<Stage> {
  const scene = createSandboxScene();
  const { sandbox, registry } = scene;
  const { engine } = sandbox;
  const { old: oldLabels = {}, next: nextLabels = {} } = shape.imageLabels ?? {};
  const healthOf = (isSick = false) =>
    isSick ? { Healthcheck: { Test: ['CMD', 'true'], Interval: 1e9, Retries: 1 } } : {};
  const behaviour = {
    stopMs: 500,
    commands: { hook: { tookMs: 1000 } },
    ...(shape.hasData && { marksVolumes: 'v1' }),
  };
  if (shape.hasData) sandbox.control.addImage(settings.dataImage, { version: 'tools' });
  registry.store.publish(image, {
    version: '1',
    config: { ...healthOf(shape.wasSick), Labels: oldLabels },
    behaviour: { ...behaviour, ...(shape.wasSick && { health: { kind: 'unhealthy' } }) },
  });
  await engine.pullImage({ reference: image });
  const networks = (shape.networks ?? []).map((name) => sandbox.control.addNetwork(name));
  const webId = sandbox.control[shape.stopped ? 'addContainer' : 'runContainer']('web', {
    Image: image,
    ...shape.body,
  });
  for (const networkId of networks.slice(1))
    await engine.connectNetwork({ containerId: webId, networkId, endpoint: {} });
  if (shape.dependent)
    sandbox.control.runContainer('app', {
      Image: image,
      HostConfig: { ...restart('unless-stopped'), NetworkMode: 'container:web' },
    });
  for (const volume of Object.keys(sandbox.control.snapshot().volumes))
    sandbox.control.markVolume(volume, `data of ${volume}`);
  const { sick, ...nextBehaviour } = shape.next;
  const manifest = registry.store.publish(image, {
    version: '2',
    config: { ...healthOf(shape.next.sick), Labels: nextLabels },
    behaviour: sick ? { health: { kind: 'unhealthy' } } : nextBehaviour,
  });
  if (shape.wasSick) await scene.clock.run(() => scene.clock.sleep(2000));
  const web = (await engine.inspectContainer('web'))!;
  const app = await engine.inspectContainer('app');
  const before = new Map(
    [web, app].filter((container) => container !== undefined).map((container) => [container.name, container]),
  );
  const members = [...before.values()].map((container) => ({
    container,
    cause: 'stale' as const,
    reference: image,
    digest: manifest.digest,
    hardDependencies: container.id === webId ? [] : [webId],
    desiredEndState:
      shape.desiredEndState ?? (isAlive(container.state.status) ? ('running' as const) : ('stopped' as const)),
    waitsFor: [],
  }));
  const newImageId = manifest.kind === 'image' ? manifest.image.id : '';
  return { scene, planned: { id: webId, members, after: [], requires: [] }, before, newImageId };
}

/** Errors at the end; empty if nothing was lost. `apart`: names outside of the shape. */
export function faultsIn(
  { scene, before, newImageId }: Stage,
  shape: Shape,
  apart: ReadonlySet<string> = new Set(),
): string[] {
  const { containers: all, volumes, tags } = scene.sandbox.control.snapshot();
  const containers = Object.fromEntries(Object.entries(all).filter(([name]) => !apart.has(name)));
  const faults: string[] = [];
  if (shape.good && Object.keys(tags).some(isFailedVersionTag)) faults.push('a good version is held to have failed');
  const kept = Object.values(containers).filter(({ name }) => parseKeptName(name) !== undefined);
  const isNew = containers['web']?.imageId === newImageId;
  if (kept.length !== (shape.keeps && isNew ? 1 : 0)) faults.push(`${kept.length} containers are kept`);
  for (const { name, running } of kept) if (running) faults.push(`"${name}" runs`);
  const names = Object.keys(containers)
    .filter((name) => parseKeptName(name) === undefined)
    .sort()
    .join();
  if (names !== [...before.keys()].sort().join()) faults.push(`the containers are ${names}`);
  for (const [name, old] of before) {
    const now = containers[name];
    if (now === undefined) continue;
    const { stopped = false, desiredEndState = stopped ? 'stopped' : 'running' } = shape;
    const isToRun = now.imageId === newImageId ? desiredEndState === 'running' : !stopped;
    if (now.running !== isToRun) faults.push(`"${name}" is ${now.state.status}`);
    if (now.imageId === newImageId && desiredEndState === 'completed' && now.state.status !== 'exited')
      faults.push(`the work of "${name}" was not done`);
    if (shape.selfRemoving && now.imageId === newImageId && now.settings.HostConfig.AutoRemove !== true)
      faults.push(`"${name}" does not remove itself any more`);
    if (now.imageId !== old.imageId && now.imageId !== newImageId) faults.push(`"${name}" runs a third image`);
    if (now.imageId === newImageId && !shape.good) faults.push(`"${name}" stayed on a bad version`);
    const policy = (container: Container) => container.settings.HostConfig.RestartPolicy?.Name || 'no';
    if (policy(now) !== policy(old)) faults.push(`the policy of "${name}" is ${policy(now)}`);
    const networks = ({ settings: { Networks } }: Container) => Object.keys(Networks).sort().join();
    if (networks(now) !== networks(old)) faults.push(`"${name}" is in the networks ${networks(now)}`);
    const mounts = (container: Container) =>
      container.settings.Mounts.map((mount) => `${mount.Name}:${mount.Destination}`)
        .sort()
        .join();
    if (mounts(now) !== mounts(old)) faults.push(`"${name}" mounts ${mounts(now)} instead of ${mounts(old)}`);
  }
  for (const [name, marker] of Object.entries(volumes))
    if (!isDataOf(name, marker, shape.hasData && (isNew ? 'new' : 'old')))
      faults.push(`volume ${name} holds "${marker}"`);
  return faults;
}

/** Every start adds the version to the marker, so the old version must not find the word of the new one. */
function isDataOf(name: string, marker: string, version: 'old' | 'new' | false | undefined): boolean {
  const begin = `data of ${name}`;
  if (!marker.startsWith(begin)) return false;
  const words = marker.slice(begin.length);
  if (!version) return words === '';
  return (version === 'old' ? /^(?: v1)*$/ : /^(?: v1)*(?: v2)+$/).test(words);
}

/** An update with these faults; afterwards its process is dead. */
export async function runKilled(stage: Stage, faults: readonly PlannedFault[]): Promise<void> {
  const life = stage.scene.startProcess(stage.scene.sandbox.connect({ faults }));
  await stage.scene.clock
    .run(() => runTransaction(life.outside, settings, stage.planned, { runId: 'run' }))
    .catch(() => []);
  if (!life.connection.isDead()) life.connection.crash();
}

/** A start after the fault, and a minute for the remaining actions of the engine. */
export async function startAgain(
  { scene }: Stage,
  faults: readonly PlannedFault[] = [],
): Promise<{ readonly changes: number; readonly complaints: readonly string[] }> {
  const life = scene.startProcess(scene.sandbox.connect({ faults }));
  await scene.clock.run(() => recoverTransactions(life.outside, settings)).catch(() => {});
  life.connection.crash();
  await scene.clock.run(() => scene.clock.sleep(60_000));
  return { changes: life.connection.calls.length, complaints: life.complaints };
}

/** A run without a fault shows the list of changing calls. */
export async function countCalls(
  shape: Shape,
): Promise<{ readonly calls: readonly string[]; readonly outcomes: readonly OutcomeKind[]; readonly stage: Stage }> {
  const stage = await setStage(shape);
  const life = stage.scene.startProcess();
  const outcomes = await stage.scene.clock.run(() =>
    runTransaction(life.outside, settings, stage.planned, { runId: 'run' }),
  );
  return {
    calls: life.connection.calls.map(({ kind, target, detail }) => `${kind} ${target} ${detail}`),
    outcomes: outcomes.map(({ outcome }) => outcome),
    stage,
  };
}
