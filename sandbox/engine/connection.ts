import type {
  CallOutcome,
  CommandOutcome,
  EngineInfo,
  ServiceCallOutcome,
  ServiceEdit,
  Swarm,
  SwarmState,
} from '../../src/domain/outside/engine.ts';
import { permissionNames } from '../../src/domain/outside/permission.ts';
import type { Engine } from '../../src/domain/outside/outside.ts';
import type { ContainerConfig } from '../../src/domain/container/container.ts';
import { ServiceError } from '../../src/domain/text/errors.ts';
import type { Calls, CallKind } from './calls.ts';
import { createContainer, engineHostname } from '../containers/create.ts';
import {
  runCommand,
  restartContainer,
  startContainer,
  stopContainer,
  updateRestartPolicy,
  removeContainer,
} from '../containers/processes.ts';
import { changesOf, readFiles, statFile, writeFiles } from '../containers/files.ts';
import type { Platform } from '../../src/domain/image/platform.ts';
import { inspectImage, listImages, removeImage, tagImage, pullImage } from '../world/images.ts';
import {
  findContainer,
  findImage,
  getContainer,
  renameContainer,
  removeVolume,
  createVolume,
  listVolumes,
} from '../world/lookup.ts';
import { connectNetwork, recreateNetwork } from '../world/networks.ts';
import { hasPruned, pastEvents, inspectContainer, listContainers } from '../world/view.ts';
import { Refusal } from '../base/simulation.ts';
import { noSpaceLeft, engineNowMs, type SandboxContainer, type World } from '../world/world.ts';
import type { SwarmService } from '../../src/domain/container/swarm-service.ts';
import { outOfSequence, rollBackService, updateService, viewService, viewTask } from '../swarm/services.ts';
import type { Membership, SandboxService, SandboxServiceSpec } from '../swarm/swarm-world.ts';

/** An `Engine` over the sandbox: the connection of one caller. */
export function createConnection(world: World, calls: Calls): Engine {
  /** A change to one container. The engine needs free disk space to store its settings. */
  function onContainer(
    kind: CallKind,
    id: string,
    detail: string,
    effect: (container: SandboxContainer) => Effect | Promise<Effect>,
  ) {
    const target = findContainer(world, id)?.name ?? id;
    return calls.change<CallOutcome>({ kind, target, detail }, async () =>
      outcomeOf(await effect(getContainer(world, id))),
    );
  }

  function writeSettings(): void {
    if (world.condition.diskFull) throw new Refusal(500, noSpaceLeft);
  }

  return {
    ping: () => calls.read(() => {}),
    info: () => calls.read(() => describeEngine(world)),
    listContainers: (filter) => calls.read(() => listContainers(world, filter)),
    inspectContainer: (idOrName) =>
      calls.read(() => {
        const container = findContainer(world, idOrName);
        return container && inspectContainer(world, container);
      }),
    listImages: () => calls.read(() => listImages(world)),
    inspectImage: (idOrReference) =>
      calls.read(() => {
        const stored = findImage(world, idOrReference);
        return stored && inspectImage(world, stored);
      }),
    manifestsIn: () => calls.read(() => []),
    listNetworks: () =>
      calls.read(() =>
        [...world.networks.values()].map(({ id, name, driver, recipe }) => ({ id, name, driver, recipe })),
      ),
    listVolumes: (label) => calls.read(() => listVolumes(world, label)),
    forbiddenCalls: () => calls.read(() => permissionNames.filter((name) => calls.forbids(name))),
    containerChanges: (id) => calls.read(() => changesOf(findContainer(world, id))),
    statFile: (id, path) => calls.read(() => statFile(getContainer(world, id), path)),
    readFiles: (id, path, options) => calls.read(() => readFiles(getContainer(world, id), path, options)),
    containerLogs: (id, { tail }) => calls.read(() => lastLines(getContainer(world, id), tail)),
    hasPruned: (time) => calls.read(() => hasPruned(world, time)),
    pastEvents: (query) => calls.read(() => pastEvents(world, query)),
    events: (signal, onBreak) => world.events.listen(AbortSignal.any([signal, calls.death]), onBreak),

    pullImage: async (request, signal = new AbortController().signal) => {
      const outcome = await calls.change({ kind: 'pullImage', target: request.reference, detail: '' }, async () => {
        await pullImage(world, request, AbortSignal.any([signal, world.condition.connection.signal]));
        return { kind: 'done' as const };
      });
      if (outcome.kind === 'done') return;
      const isForbiddenCall = outcome.kind === 'refused' && outcome.isForbidden === true;
      const code =
        outcome.kind === 'unknown' ? 'engine-unreachable' : isForbiddenCall ? 'engine-denied' : 'pull-failed';
      throw new ServiceError(code, `Cannot pull "${request.reference}": ${outcome.message}`);
    },
    tagImage: (imageId, reference) =>
      calls.change<CallOutcome>({ kind: 'tagImage', target: reference, detail: imageId }, () => {
        writeSettings();
        tagImage(world, imageId, reference);
        return { kind: 'done' };
      }),
    removeImage: (idOrReference) =>
      calls.change<CallOutcome>({ kind: 'removeImage', target: idOrReference, detail: '' }, () => {
        if (findImage(world, idOrReference) === undefined) return { kind: 'noop' };
        removeImage(world, idOrReference);
        return { kind: 'done' };
      }),
    createContainer: (name, recipe) =>
      calls.change({ kind: 'createContainer', target: name, detail: imageOf(recipe.body) }, () => {
        writeSettings();
        return { kind: 'done' as const, id: createContainer(world, name, recipe).id };
      }),
    createNetwork: (network) =>
      calls.change<CallOutcome>({ kind: 'createNetwork', target: network.name, detail: '' }, () => {
        if (world.networks.has(network.name)) return { kind: 'noop' };
        recreateNetwork(world, network);
        return { kind: 'done' };
      }),
    connectNetwork: ({ containerId, networkId, endpoint }) =>
      onContainer('connectNetwork', containerId, networkId, (container) => {
        connectNetwork(world, container, networkId, { ...endpoint });
      }).then(connectedAlready),
    writeFiles: (id, folder, files) =>
      onContainer('writeFiles', id, folder, (container) => {
        writeSettings();
        writeFiles(world, container, folder, files);
      }),
    renameContainer: (id, name) =>
      onContainer('renameContainer', id, name, (container) => {
        writeSettings();
        renameContainer(world, container, name);
      }),
    updateRestartPolicy: (id, policy) =>
      onContainer('updateRestartPolicy', id, policy.Name, (container) => {
        writeSettings();
        updateRestartPolicy(world, container, policy);
      }),
    stopContainer: (id, options) =>
      onContainer('stopContainer', id, '', (container) => stopContainer(world, container, options)),
    startContainer: (id) => onContainer('startContainer', id, '', (container) => startContainer(world, container)),
    restartContainer: (id, options) =>
      onContainer('restartContainer', id, '', (container) => restartContainer(world, container, options)),
    probeHealth: () => Promise.resolve(),
    waitUntilStopped: (id, timeoutMs, signal) => calls.read(() => waitUntilStopped(world, id, timeoutMs, signal)),
    removeContainer: (id) =>
      calls.change<CallOutcome>(
        { kind: 'removeContainer', target: findContainer(world, id)?.name ?? id, detail: '' },
        () => {
          const container = findContainer(world, id);
          if (container === undefined) return { kind: 'noop' };
          removeContainer(world, container, { withVolumes: false });
          return { kind: 'done' };
        },
      ),
    // The targets of links are found by their ids, even after a rename.
    removeLink: (name, alias) =>
      calls.change<CallOutcome>({ kind: 'removeLink', target: name, detail: alias }, () => ({ kind: 'noop' })),
    createVolume: (name, labels) =>
      calls.change<CallOutcome>({ kind: 'createVolume', target: name, detail: '' }, () => {
        writeSettings();
        return { kind: createVolume(world, name, labels) };
      }),
    removeVolume: (name) =>
      calls.change<CallOutcome>({ kind: 'removeVolume', target: name, detail: '' }, () => ({
        kind: removeVolume(world, name),
      })),
    runCommand: async (id, command, signal) => {
      signal?.throwIfAborted();
      const target = findContainer(world, id)?.name ?? id;
      return calls.change<CommandOutcome>({ kind: 'runCommand', target, detail: command.command.join(' ') }, () =>
        runCommand(world, getContainer(world, id), command, signal),
      );
    },

    close: () => Promise.resolve(calls.close()),
  };
}

type Effect = 'done' | 'noop' | void;

function outcomeOf(effect: Effect): CallOutcome {
  return { kind: effect ?? 'done' };
}

function connectedAlready(outcome: CallOutcome): CallOutcome {
  return outcome.kind === 'refused' && outcome.message.includes('already exists in network')
    ? { kind: 'noop' }
    : outcome;
}

function describeEngine(world: World): EngineInfo {
  return {
    id: world.engineId,
    kind: 'docker',
    version: world.profile.version,
    apiVersion: world.profile.apiVersion,
    name: engineHostname,
    platform: shownPlatform(world),
    liveRestore: world.liveRestore,
    abilities: { changesRestartPolicies: true, probesHealth: true },
    containerReach: 'direct',
    nowMs: engineNowMs(world),
    hubMirrors: [],
    insecureRegistries: ['127.0.0.0/8'],
  };
}

/** Docker knows the variant of an amd64 processor and chooses images by it, but does not show it. */
function shownPlatform({ platform }: World): Platform {
  return platform.architecture === 'amd64' ? { ...platform, variant: '' } : platform;
}

function lastLines({ logs, config }: SandboxContainer, tail: number): string {
  const end = config['Tty'] === true ? '\r\n' : '\n';
  return logs
    .slice(-tail)
    .map((line) => line + end)
    .join('')
    .slice(-maxLogCharacters);
}

const maxLogCharacters = 65_536;

async function waitUntilStopped(world: World, id: string, timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
  const process = findContainer(world, id)?.process;
  if (process === undefined) return true;
  const enough = new AbortController();
  const patience = AbortSignal.any(signal === undefined ? [enough.signal] : [enough.signal, signal]);
  const late = world.clock.sleep(timeoutMs, patience).then(() => false);
  try {
    return await Promise.race([process.ended.then(() => true), late]);
  } finally {
    late.catch(() => undefined);
    enough.abort();
  }
}

function imageOf(body: Readonly<Record<string, unknown>>): string {
  const { Image: image = '' } = body as Partial<ContainerConfig>;
  return image;
}

/** A `Swarm` over the sandbox: the connection of one caller. */
export function createSwarmConnection(membership: Membership, calls: Calls): Swarm {
  const { swarm: world } = membership;
  const read = <Answer>(look: () => Answer): Promise<Answer> =>
    calls.read(() => {
      asManager(membership);
      return look();
    });
  return {
    state: () => calls.read(() => stateOf(membership)),
    services: () =>
      read(() => [...world.services.values()].map((service) => viewService(world, service, { isCounted: true }))),
    service: (id) =>
      read(() => {
        const service = world.services.get(id);
        return service && viewService(world, service, { isCounted: false });
      }),
    tasks: (ids) =>
      read(() => [...world.tasks.values()].filter(({ serviceId }) => ids.includes(serviceId)).map(viewTask)),
    nodes: () => read(() => [...world.nodes.values()].map((node) => ({ ...node }))),
    failures: () => read(() => [...world.failures.values()]),
    change: (service, edit) =>
      calls.change<ServiceCallOutcome>({ kind: 'changeService', target: service.name, detail: edit.image }, () =>
        inTurn(membership, service, (found) => {
          const { credentials } = edit;
          const version = Number(service.version);
          updateService(world, found, { spec: edited(service, edit), version, ...(credentials && { credentials }) });
        }),
      ),
    rollBack: (service) =>
      calls.change<ServiceCallOutcome>({ kind: 'revertService', target: service.name, detail: 'previous' }, () =>
        inTurn(membership, service, (found) => rollBackService(world, found, Number(service.version))),
      ),
    noteFailure: (failure) =>
      calls.change<CallOutcome>({ kind: 'noteFailure', target: failure.serviceName, detail: failure.digest }, () => {
        asManager(membership);
        const isStored = [...world.failures.values()].some(
          ({ serviceId, digest }) => serviceId === failure.serviceId && digest === failure.digest,
        );
        if (isStored) return { kind: 'noop' };
        const configId = world.newId('config').slice(0, 25);
        world.failures.set(configId, { ...failure, atMs: Math.floor(failure.atMs / 1000) * 1000, configId });
        return { kind: 'done' };
      }),
    forgetFailure: ({ configId, serviceName, digest }) =>
      calls.change<CallOutcome>({ kind: 'forgetFailure', target: serviceName, detail: digest }, () => {
        asManager(membership);
        return { kind: world.failures.delete(configId) ? 'done' : 'noop' };
      }),
  };
}

function stateOf({ place, swarm }: Membership): SwarmState {
  if (place === 'manager') return { kind: 'manager', clusterId: swarm.id };
  return place === 'leaderless' ? { kind: place, message: noLeader } : { kind: place };
}

const noLeader =
  "rpc error: code = Unknown desc = The swarm does not have a leader. It's possible that too few managers are online. Make sure more than half of the managers are online.";

function asManager({ place }: Membership): void {
  if (place === 'manager') return;
  if (place === 'leaderless') throw new Refusal(500, noLeader);
  throw new Refusal(
    503,
    "This node is not a swarm manager. Worker nodes can't be used to view or modify cluster state. Please run this command on a manager node or promote the current node to a manager.",
  );
}

function inTurn(
  membership: Membership,
  { id }: SwarmService,
  act: (service: SandboxService) => void,
): ServiceCallOutcome {
  asManager(membership);
  const service = membership.swarm.services.get(id);
  if (service === undefined) throw new Refusal(404, `service ${id} not found`);
  try {
    act(service);
  } catch (error) {
    if (error instanceof Refusal && error.message === outOfSequence) return { kind: 'conflict' };
    throw error;
  }
  return { kind: 'done' };
}

function edited(service: SwarmService, { image, labels, platforms }: ServiceEdit): SandboxServiceSpec {
  const spec = JSON.parse(service.spec) as SandboxServiceSpec;
  spec.TaskTemplate.ContainerSpec.Image = image;
  spec.Labels = { ...spec.Labels, ...labels };
  if (platforms !== undefined)
    spec.TaskTemplate.Placement = {
      ...spec.TaskTemplate.Placement,
      Platforms: platforms.map(({ os, architecture }) => ({ Architecture: architecture, OS: os })),
    };
  return spec;
}
