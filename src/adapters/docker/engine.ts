import type { Swarm } from '../../domain/outside/engine.ts';
import type { Clock, Log, Engine, EngineRoute } from '../../domain/outside/outside.ts';
import { parseAddress, createConnection, type TlsFiles } from './transport/connection.ts';
import { createClient } from './transport/client.ts';
import {
  createContainer,
  renameContainer,
  startContainer,
  updateRestartPolicy,
  connectNetwork,
  createNetwork,
  listNetworks,
  createVolume,
  listVolumes,
  removeContainer,
  removeLink,
  removeVolume,
  restartContainer,
  stopContainer,
  waitUntilStopped,
  inspectContainer,
  listContainers,
} from './calls/containers.ts';
import { defaultDeadlines, type Deadlines } from './transport/request.ts';
import { runCommand, containerLogs } from './calls/exec.ts';
import { containerChanges, readFiles, statFile, writeFiles } from './calls/files.ts';
import { engineEvents, hasPruned, pastEvents } from './calls/events.ts';
import {
  createImageLabels,
  inspectImage,
  listImages,
  manifestsIn,
  removeImage,
  tagImage,
  pullImage,
} from './calls/images.ts';
import { engineInfo, createPermissions, ping } from './calls/calls.ts';
import { probeHealth } from './calls/podman.ts';
import { eventKinds } from './calls/translate.ts';
import { createDockerSwarm } from './swarm/swarm.ts';

export type DockerEngineOptions = {
  /** `unix:///path`, `tcp://host:port`, `http(s)://host:port` or `ssh://user@host:port`. */
  readonly host: string;
  /** Encrypts `tcp://`. */
  readonly tls?: TlsFiles;
  /** Preferred to the newest common version, if both sides support it. */
  readonly apiVersion?: string;
  readonly clock: Clock;
  readonly log?: Pick<Log, 'warn'>;
  /** All variables that the program `ssh` gets; none by default. */
  readonly sshEnvironment?: Readonly<Record<string, string | undefined>>;
  /** Number of kept connections for short reads; default 16. */
  readonly maxSockets?: number;
  readonly deadlines?: Partial<Deadlines>;
  /** The longest pause between attempts to reconnect to the events of an engine; default 10 s. */
  readonly maxRetryMs?: number;
  /** The moment of the attempt within that pause, from 0 to 1, so that many engines do not retry at once. */
  readonly retryPhase?: number;
  /** Includes the events of a swarm's services. */
  readonly followsServices?: boolean;
};

/** `swarm` is the swarm of the engine, over the same connection; `route` is where that leads to. */
export type DockerEngine = Engine & { readonly swarm: Swarm; readonly route: () => EngineRoute };

/**
 * Docker and Podman over the Docker Engine API. Connects with the first call. Throws `invalid-input` for an invalid
 * address.
 */
export function createDockerEngine(options: DockerEngineOptions): DockerEngine {
  const { clock, tls, maxSockets = 16, sshEnvironment = {} } = options;
  const address = parseAddress(options.host, tls !== undefined);
  const connection = createConnection(address, { clock, maxSockets, sshEnvironment, ...(tls && { tls }) });
  const permissions = createPermissions(
    createClient({
      connection,
      clock,
      deadlines: { ...defaultDeadlines, ...options.deadlines },
      pinnedVersion: options.apiVersion,
      warn: (message) => options.log?.warn(message),
    }),
  );
  const { client } = permissions;
  const imageLabels = createImageLabels(client);
  const closing = new AbortController();
  const kinds = options.followsServices === true ? [...eventKinds, 'service'] : eventKinds;

  return {
    ping: (signal) => ping(client, signal),
    info: (signal) => engineInfo(client, signal),
    listContainers: (filter, signal) => listContainers(client, filter, signal),
    inspectContainer: async (idOrName, signal) => {
      const container = await inspectContainer(client, idOrName, signal);
      const inherited = container && (await imageLabels.of(container, signal));
      return container && { ...container, ...(inherited && { imageLabels: inherited }) };
    },
    listImages: (signal) => listImages(client, signal),
    inspectImage: async (idOrReference, signal) => {
      const image = await inspectImage(client, idOrReference, signal);
      if (image !== undefined) imageLabels.note(image);
      return image;
    },
    manifestsIn: (imageId, signal) => manifestsIn(client, imageId, signal),
    listNetworks: (signal) => listNetworks(client, signal),
    listVolumes: (label, signal) => listVolumes(client, label, signal),
    containerChanges: (id, signal) => containerChanges(client, id, signal),
    statFile: (id, path, signal) => statFile(client, id, path, signal),
    readFiles: (id, path, options, signal) => readFiles(client, id, path, options, signal),
    containerLogs: (id, { tail }, signal) => containerLogs(client, id, { tail }, signal),
    // With ssh, the engine's own command is at the other end, and each call is a session.
    forbiddenCalls: (signal) => (address.kind === 'ssh' ? Promise.resolve([]) : permissions.ask(signal)),
    hasPruned: (time) => hasPruned(client, time),
    pastEvents: (query) => pastEvents(client, query),
    events: (signal, onBreak) =>
      engineEvents(client, {
        signal: AbortSignal.any([signal, closing.signal]),
        onBreak,
        kinds,
        maxPauseMs: options.maxRetryMs,
        retryPhase: options.retryPhase,
      }),

    pullImage: (request, signal) => pullImage(client, request, signal),
    tagImage: (imageId, reference) => tagImage(client, imageId, reference),
    removeImage: (idOrReference) => removeImage(client, idOrReference),
    createContainer: (name, recipe) => createContainer(client, name, recipe),
    createNetwork: (network) => createNetwork(client, network),
    connectNetwork: (request) => connectNetwork(client, request),
    writeFiles: (id, folder, files) => writeFiles(client, id, folder, files),
    renameContainer: (id, name) => renameContainer(client, id, name),
    updateRestartPolicy: (id, policy) => updateRestartPolicy(client, id, policy),
    stopContainer: (id, stop) => stopContainer(client, id, stop),
    startContainer: (id) => startContainer(client, id),
    restartContainer: (id, stop) => restartContainer(client, id, stop),
    probeHealth: (id, signal) => probeHealth(client, id, signal),
    waitUntilStopped: (id, timeoutMs, signal) => waitUntilStopped(client, id, timeoutMs, signal),
    removeContainer: (id) => removeContainer(client, id),
    removeLink: (name, alias) => removeLink(client, name, alias),
    createVolume: (name, labels) => createVolume(client, name, labels),
    removeVolume: (name) => removeVolume(client, name),
    runCommand: (id, command, signal) => runCommand(client, id, command, signal),

    swarm: createDockerSwarm(client),
    route: connection.route,

    close: async () => {
      closing.abort();
      connection.close();
    },
  };
}
