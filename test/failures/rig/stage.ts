import type { UpdateRequest, ContainerOutcome, OutcomeKind, Session } from '../../../src/domain/run/session.ts';
import type { RecoveryReport, ServiceEvent } from '../../../src/domain/run/event.ts';
import type { PlannedFault } from '../../../sandbox/engine/calls.ts';
import type { SandboxConnection, SandboxEngineOptions } from '../../../sandbox/engine/engine.ts';
import type { Release } from '../../../sandbox/registry/registry-store.ts';
import type { Application } from '../../../src/application/application.ts';
import { createApplication } from '../../../src/application/create-application.ts';
import type { Container } from '../../../src/domain/container/container.ts';
import type { Outside } from '../../../src/domain/outside/outside.ts';
import { defaultSettings, type ServiceSettings } from '../../../src/domain/settings/effective-settings.ts';
import { createSandboxScene, type SandboxScene } from '../../support/scene/sandbox-outside.ts';

/** A container by name, in the order in which they are run. */
export type Cast = Readonly<Record<string, Part>>;

export type Part = {
  /** `<name>:1` unless told. */
  readonly image?: string;
  /** Create body, besides the image. */
  readonly body?: object;
  readonly old?: Release;
  /** New release behind its tag; `none`: still the running one. */
  readonly next?: Release | 'none';
  readonly stopped?: boolean;
};

/** An engine in memory with containers whose images have newer versions, and any number of processes of the service. */
export type Stage = {
  readonly scene: SandboxScene;
  /** By name. */
  readonly before: ReadonlyMap<string, Container>;
  /** A new process of the service. */
  readonly live: (options?: LifeOptions) => Life;
  /** A complete update by a new process. */
  readonly update: (options?: UpdateOptions) => Promise<Report>;
  /** An update by a process that a fault kills; resolves when it is dead. */
  readonly updateKilled: (options: UpdateOptions) => Promise<void>;
  /** Runs the recovery at a start. */
  readonly startAgain: () => Promise<RecoveryReport>;
  /**
   * Lost, stopped, changed or left-over objects; empty if every container exists and runs as before, without additional
   * ones.
   */
  readonly harm: () => string[];
  readonly now: (name: string) => ReturnType<SandboxScene['sandbox']['control']['snapshot']>['containers'][string];
  /** Whether the container with the name is a new one. */
  readonly isReplaced: (name: string) => boolean;
};

export type LifeOptions = {
  readonly settings?: Partial<ServiceSettings>;
  readonly faults?: readonly PlannedFault[];
  /** Changes to parts of the stage's world. */
  readonly outside?: (outside: Outside) => Partial<Outside>;
  /** Whether it lives on after a run, as `upkeep run` does. */
  readonly isService?: boolean;
};

export type UpdateOptions = LifeOptions & {
  readonly request?: Partial<UpdateRequest>;
  readonly signal?: AbortSignal;
};

export type Life = {
  readonly application: Application;
  readonly connection: SandboxConnection;
  readonly events: readonly ServiceEvent[];
  readonly complaints: readonly string[];
};

export type Report = Life & {
  readonly session: Session;
  readonly outcomes: Readonly<Record<string, OutcomeKind>>;
  readonly of: (name: string) => ContainerOutcome;
};

export const everything: UpdateRequest = { trigger: 'command', images: [], containers: [] };

export const patient: Partial<ServiceSettings> = { healthWindowMs: 1000, stopTimeoutMs: 3000, pullTimeoutMs: 60_000 };

export function restart(Name: string): { readonly RestartPolicy: object } {
  return { RestartPolicy: { Name, MaximumRetryCount: 0 } };
}

export const inNetworkOf = (name: string) => ({ HostConfig: { NetworkMode: `container:${name}` } });
export const dependsOn = (name: string) => ({ Labels: { 'upkeep.depends-on': name } });

export async function setStage(cast: Cast, options: Partial<SandboxEngineOptions> = {}): Promise<Stage> {
  const scene = createSandboxScene(options);
  const { control, engine } = scene.sandbox;
  for (const [name, part] of Object.entries(cast)) {
    const { image = `${name}:1`, body = {}, old = {}, stopped = false } = part;
    if ((await engine.inspectImage(image)) === undefined) {
      scene.registry.store.publish(image, { version: `${image} old`, ...old });
      await engine.pullImage({ reference: image });
    }
    control[stopped ? 'addContainer' : 'runContainer'](name, { Image: image, ...body });
  }
  for (const [name, { image = `${name}:1`, next = {} }] of Object.entries(cast))
    if (next !== 'none') scene.registry.store.publish(image, { version: `${image} new`, ...next });
  const before = new Map<string, Container>(Object.entries(control.snapshot().containers));
  const now: Stage['now'] = (name) => {
    const found = control.snapshot().containers[name];
    if (found === undefined) throw new Error(`there is no "${name}"`);
    return found;
  };

  const live: Stage['live'] = ({ settings = {}, faults = [], outside = () => ({}), isService = false } = {}) => {
    const process = scene.startProcess(scene.sandbox.connect({ faults }));
    const world = { ...process.outside, ...outside(process.outside) };
    const application = createApplication(world, { ...defaultSettings, ...patient, ...settings }, {}, { isService });
    const events: ServiceEvent[] = [];
    application.subscribe((event) => events.push(event));
    return { application, connection: process.connection, events, complaints: process.complaints };
  };
  const update: Stage['update'] = async ({ request, signal, ...rest } = {}) => {
    const life = live(rest);
    return reportOf(life, await life.application.update({ ...everything, ...request }, signal));
  };

  return {
    scene,
    before,
    live,
    update,
    updateKilled: async ({ request, signal, ...rest }) => {
      const life = live(rest);
      await life.application.update({ ...everything, ...request }, signal).catch(() => undefined);
      if (!life.connection.isDead()) throw new Error('it lives: the fault was never met');
    },
    startAgain: () => live().application.recover(),
    harm: () => harmIn(before, control.snapshot().containers),
    now,
    isReplaced: (name) => now(name).id !== before.get(name)?.id,
  };
}

export function reportOf(life: Life, session: Session): Report {
  const found = new Map(session.containers.map((outcome) => [outcome.name, outcome]));
  return {
    ...life,
    session,
    outcomes: Object.fromEntries([...found].map(([name, { outcome }]) => [name, outcome])),
    of: (name) => {
      const outcome = found.get(name);
      if (outcome === undefined) throw new Error(`nothing is said about "${name}"`);
      return outcome;
    },
  };
}

type Standing = Readonly<Record<string, Container>>;

function harmIn(before: ReadonlyMap<string, Container>, containers: Standing): string[] {
  const harm = Object.keys(containers)
    .filter((name) => !before.has(name))
    .map((name) => `"${name}" is left over`);
  for (const [name, old] of before) {
    const now = containers[name];
    if (now === undefined) harm.push(`"${name}" is lost`);
    else if (now.state.status !== old.state.status) harm.push(`"${name}" is ${now.state.status}`);
    else harm.push(...differencesOf(name, old, now));
  }
  return harm;
}

function differencesOf(name: string, old: Container, now: Container): string[] {
  const policy = ({ settings }: Container) => settings.HostConfig.RestartPolicy?.Name || 'no';
  const mounts = ({ settings }: Container) =>
    settings.Mounts.map((mount) => `${mount.Name}:${mount.Destination}`).join();
  const networks = ({ settings }: Container) => Object.keys(settings.Networks).join();
  return [
    ...(policy(now) === policy(old) ? [] : [`the policy of "${name}" is ${policy(now)}`]),
    ...(mounts(now) === mounts(old) ? [] : [`"${name}" mounts ${mounts(now)}`]),
    ...(networks(now) === networks(old) ? [] : [`"${name}" is in ${networks(now)}`]),
  ];
}
