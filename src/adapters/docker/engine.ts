import { randomBytes } from 'node:crypto';
import { orAborted } from '../../domain/concurrency.ts';
import type { Swarm } from '../../domain/outside/engine.ts';
import { permissionNames, type PermissionName } from '../../domain/outside/permission.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import type { Clock, Log, Engine, EngineRoute } from '../../domain/outside/outside.ts';
import { parseAddress, createConnection, type TlsFiles } from './transport/connection.ts';
import { createClient, type Call, type Client } from './transport/client.ts';
import { readAnswer, type EngineError } from './transport/answer.ts';
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
import { capabilitiesOf, engineInfo, ping } from './calls/calls.ts';
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

/**
 * Finds out which calls are forbidden, without a change: each is made once about an object that cannot exist. The
 * engine answers that there is none, a proxy before it that the call is forbidden. A result is remembered for seconds, one
 * without forbidden calls until a call is forbidden or gets no answer, because that may be a new proxy.
 */
function createPermissions(client: Client) {
  const { clock } = client;
  let last: { readonly asked: Promise<readonly PermissionName[]>; untilMs: number } | undefined;

  async function askEngine(): Promise<readonly PermissionName[]> {
    const version = await client.version().catch(unlessDenied);
    const send = version === undefined ? client.sendUnversioned : client.send;
    const hasPolicies = version === undefined || capabilitiesOf(version).restartPolicies;
    const wanted = permissionNames.filter((name) => name !== 'policy' || hasPolicies);
    const id = `${absentIdStart}${randomBytes(16).toString('hex')}`;
    const timeLimit = { for: 'whole', ms: client.deadlines.readMs } as const;
    const answers = await Promise.all(
      wanted.map(async (name) => {
        const trial = trials[name](id);
        const reply = await send({ ...trial, socket: 'shared', timeLimit });
        if (reply.kind === 'error') return showsForbidden(reply, trial.path, withoutId.has(name) ? undefined : id);
        await readAnswer(reply.body);
        return false;
      }),
    );
    return wanted.filter((_, place) => answers[place]);
  }

  const noting =
    (send: Client['send']): Client['send'] =>
    async (call) => {
      const reply = await send(call).catch((error: unknown) => {
        last = undefined;
        throw error;
      });
      if (reply.kind === 'error' && reply.isForbidden) last = undefined;
      return reply;
    };

  function ask(signal?: AbortSignal): Promise<readonly PermissionName[]> {
    if (last === undefined || clock.monotonicMs() >= last.untilMs) {
      const mine = { asked: askEngine(), untilMs: Infinity };
      last = mine;
      const keepFor = (ms: number) => void (mine.untilMs = clock.monotonicMs() + ms);
      mine.asked.then(
        (forbidden) => keepFor(forbidden.length === 0 ? permittedForMs : forbiddenForMs),
        () => keepFor(0),
      );
    }
    return orAborted(last.asked, signal);
  }

  return {
    ask,
    client: {
      ...client,
      send: noting(client.send),
      sendInNewest: noting(client.sendInNewest),
      sendUnversioned: noting(client.sendUnversioned),
    },
  };
}

/** The updates of one run share some answers, and each stop has a recent one: a new proxy may permit less. */
const permittedForMs = 20_000;
/** A grant is noticed at once. */
const forbiddenForMs = 5_000;

/** Nobody can guess the other half, and create a container with this name. */
const absentIdStart = '0'.repeat(32);

/** An engine that may not be asked for its version can still be asked for the rest. */
function unlessDenied(error: unknown): undefined {
  if (!(error instanceof ServiceError) || error.code !== 'engine-denied') throw error;
}

/** Also for an answer of a proxy in the engine's form: the engine refuses nothing that does not exist. */
function showsForbidden({ status, message, isForbidden }: EngineError, path: string, id: string | undefined): boolean {
  const isAbsent = id === undefined || (message.includes(id) && !message.includes(path));
  return isForbidden || refusals.includes(status) || (status === 404 && !isAbsent);
}

const refusals: readonly number[] = [401, 403, 405];

/**
 * Docker and Podman repeat the id in the 404 of the other calls: "No such container: ID", "no container with name or ID
 * …", "ID: image not known". Podman's 404 of `wait` is without it, and the rest of these concern no single object.
 */
const withoutId: ReadonlySet<PermissionName> = new Set([
  'containers',
  'images',
  'networks',
  'pull',
  'wait',
  'info',
  'events',
]);

const getCall = (path: string, query?: Record<string, string>) =>
  ({ method: 'GET', path, ...(query && { query }) }) as const;
const post = (path: string, more: Partial<Pick<Call, 'query' | 'body'>> = {}) =>
  ({ method: 'POST', path, ...more }) as const;
const remove = (path: string, query: Record<string, string>) => ({ method: 'DELETE', path, query }) as const;

const trials: Readonly<Record<PermissionName, (id: string) => Pick<Call, 'method' | 'path' | 'query' | 'body'>>> = {
  containers: (id) => getCall('/containers/json', { filters: JSON.stringify({ id: [id] }) }),
  inspect: (id) => getCall(`/containers/${id}/json`),
  images: () => getCall('/images/json', { filters: JSON.stringify({ reference: ['upkeep-absent:none'] }) }),
  inspectImage: (id) => getCall(`/images/sha256:${id}/json`),
  networks: (id) => getCall('/networks', { filters: JSON.stringify({ id: [id] }) }),
  // An invalid name, so that no registry is asked.
  pull: () => post('/images/create', { query: { fromImage: '-', tag: '-' } }),
  tag: (id) => post(`/images/sha256:${id}/tag`, { query: { repo: 'upkeep-absent', tag: 'none' } }),
  create: (id) => post('/containers/create', { query: { name: id }, body: { Image: `sha256:${id}` } }),
  connect: (id) => post(`/networks/${id}/connect`, { body: { Container: id } }),
  rename: (id) => post(`/containers/${id}/rename`, { query: { name: id } }),
  policy: (id) => post(`/containers/${id}/update`, { body: { RestartPolicy: { Name: 'no' } } }),
  stop: (id) => post(`/containers/${id}/stop`),
  start: (id) => post(`/containers/${id}/start`),
  wait: (id) => post(`/containers/${id}/wait`),
  logs: (id) => getCall(`/containers/${id}/logs`, { stdout: '1', tail: '1' }),
  info: () => getCall('/info'),
  // A second in 1970.
  events: () => getCall('/events', { since: '1', until: '2' }),
  remove: (id) => remove(`/containers/${id}`, { force: '0', v: '0' }),
  untag: (id) => remove(`/images/upkeep-absent:${id}`, { force: '0' }),
};
